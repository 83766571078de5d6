"""Several reports side by side: what changed, what shifted, and what else differs. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from assay.base.errors import CheckFailed
from assay.records.report_figures import ReportFigure, ReportFigures, ReportMachine
from assay.records.units import Unit
from assay.records.verdicts import Status
from assay.shared.counting import agreeing, counted


@dataclass(frozen=True)
class GivenReport:
    """A report as a command got it, and whether it verified."""

    name: str
    """Of its directory or archive; with the run's, where that is another, or the title of the
    project whose run nobody named."""
    path: str
    figures: ReportFigures
    keyid: str | None
    """Of the trusted key that signed it; None where it does not verify, and is not intact."""
    note: str
    """One line: who vouches, or what is wrong."""
    signer: str = ""
    """The verifier's own name for that key; empty where it does not verify."""
    holder: str = ""
    """Who signs with that key: several keys of one holder are one signer."""
    measurer: str = ""
    """Who signed what it tells when it was measured: the same, but for reports judged again."""
    judged: bool = True
    """Whether this version's rules and pages are its own; else it is intact at most."""

    @property
    def intact(self) -> bool:
        """Return whether it is as a trusted key signed it, and complete."""
        return self.keyid is not None

    @property
    def verified(self) -> bool:
        """Return whether every check of it holds."""
        return self.intact and self.judged

    @property
    def mark(self) -> str:
        """Return what stands before each figure of an intact report: nothing where it verifies."""
        return "" if self.verified else "intact, "


class Standing(StrEnum):
    """How a figure stands between reports, in the order in which they are shown."""

    CHANGED = "changed"
    """Another status, or another thing that it would be elsewhere."""
    SHIFTED = "shifted"
    """The same status, and two intervals without a common point."""
    SOME = "some"
    """Answered in some of the reports, alike as far as several answer it, and not in the others."""
    REST = "rest"


@dataclass(frozen=True)
class ComparedFigure:
    """One claim on one target in every report."""

    claim: str
    title: str
    claimed: str
    """As the reports' sources print it, each wording once."""
    target: str | None
    standing: Standing
    figures: tuple[ReportFigure | None, ...]
    """One a report; None where it says nothing of it."""
    difference: float | None
    """The last measured figure over the first, less 1; None where there are no two of one
    question."""
    kind: str
    """What a page counts it as: one of ``findings.headline.KINDS``."""
    asked_otherwise: bool
    """Whether the reports measured different things for it."""
    one_measurement: bool
    """Whether all reports that have a figure took it from the same measurement: what differs then
    is how it was judged."""

    @property
    def shift(self) -> float:
        """Return how far the figures of one question lie apart: the logarithm of the largest over
        the smallest; 0 where there are no two.
        """
        if self.difference is None:
            return 0.0
        values = [_linear_figure(each) for each in self.figures if each and has_interval(each)]
        return math.log(max(values) / min(values)) if min(values) > 0 else 0.0

    @property
    def held_together(self) -> bool:
        """Return whether two reports answer it: by a figure, or by a statement alone."""
        return sum(figure is not None and figure.answered for figure in self.figures) > 1


def linear(value: float, unit: str | None) -> float:
    """Return a gain in per cent as the ratio it means; other figures as they are."""
    return 1 + value / 100 if unit == Unit.PERCENT.value else value


def has_interval(figure: ReportFigure | None) -> bool:
    """Return whether a figure was measured, with an interval to hold another against."""
    return figure is not None and bool(figure.ci90) and isinstance(figure.measured, float)


def compare_figures(reports: Sequence[ReportFigures]) -> list[ComparedFigure]:
    """Return every figure of the reports: changed ones first, then shifted ones, then the rest; of
    each the one that lies furthest apart first.
    """
    by_key = [{(f.claim, f.target): f for f in report.figures} for report in reports]
    keys = dict.fromkeys(key for figures in by_key for key in figures)
    rows = [_compared(reports, tuple(figures.get(key) for figures in by_key)) for key in keys]
    order = list(Standing)
    return sorted(rows, key=lambda r: (order.index(r.standing), -r.shift, r.claim, r.target or ""))


HELD = frozenset({Status.REPRODUCED, Status.EXCEEDED})


def regressions(earlier: ReportFigures, later: ReportFigures) -> Iterator[tuple[ReportFigure, str]]:
    """Yield each figure of ``later`` that is worse than in ``earlier``, and how: it held and does
    not, or its interval lies wholly on the worse side of the one before.

    What ``later`` does not ask, or asks otherwise, is not looked at; what it asks and has no answer
    to does not hold. Raises CheckFailed where the two have no figure in common.
    """
    rows = compare_figures([earlier, later])
    if not any(all(row.figures) for row in rows):
        raise CheckFailed("no figure is in both reports, on one GPU product: nothing is compared")
    for row in rows:
        before, now = row.figures
        if before is None or now is None or row.asked_otherwise:
            continue
        if (before.as_if or before.status) in HELD and (now.as_if or now.status) not in HELD:
            yield now, f"{before.said} before"
        elif before.ci90 is not None and now.ci90 is not None:
            lower, higher = now.ci90[1] < before.ci90[0], now.ci90[0] > before.ci90[1]
            if (now.better > 0 and lower) or (now.better < 0 and higher):
                yield now, "the whole interval is worse than before"


def counted_once(rows: Sequence[ComparedFigure]) -> list[ComparedFigure]:
    """Return, of compared figures in their order, the first of each thing that reports count.

    That is a measurement or a sentence, named by the first claim that it answers in the last report
    that counts it.
    """
    names: dict[tuple[int, int], str] = {}
    found: dict[str, ComparedFigure] = {}
    for row in rows:
        numbers = [
            (place, figure.counted_as)
            for place, figure in enumerate(row.figures)
            if figure is not None and figure.counted_as is not None
        ]
        if numbers:
            found.setdefault(names.setdefault(numbers[-1], row.claim), row)
    return list(found.values())


def _compared(
    reports: Sequence[ReportFigures], figures: tuple[ReportFigure | None, ...]
) -> ComparedFigure:
    there = [(report, figure) for report, figure in zip(reports, figures, strict=True) if figure]
    first = there[0][1]
    measured = [(report, figure) for report, figure in there if has_interval(figure)]
    asked = {figure.question for _, figure in measured} - {None}  # of some nobody knows
    one_question = len(asked) < 2 and len({figure.unit for _, figure in measured}) < 2
    machines = [report.machine(figure) for report, figure in measured]
    taken = {machine and machine.measurement for machine in machines}
    said = [report.claims[first.claim] for report, _ in there if first.claim in report.claims]
    intervals = [figure.ci90 for _, figure in measured if figure.ci90]
    pairs = combinations(intervals, 2)
    apart = one_question and any(a[1] < b[0] or b[1] < a[0] for a, b in pairs)
    return ComparedFigure(
        first.claim,
        said[-1].title if said else first.claim,
        " / ".join(dict.fromkeys(each.claimed for each in said if each.claimed)),
        first.target,
        _standing(figures, apart=apart),
        figures,
        difference=_difference([figure for _, figure in measured]) if one_question else None,
        kind=next((each.kind for each in reversed(said) if each.kind), ""),
        asked_otherwise=not one_question,
        one_measurement=len(measured) > 1 and len(taken) == 1 and None not in taken,
    )


def _standing(figures: Sequence[ReportFigure | None], *, apart: bool) -> Standing:
    answers = [figure for figure in figures if figure and figure.answered]
    if len({figure.said for figure in answers}) > 1:
        return Standing.CHANGED
    if apart:
        return Standing.SHIFTED
    return Standing.SOME if answers and len(answers) < len(figures) else Standing.REST


def _linear_figure(figure: ReportFigure) -> float:
    return linear(float(figure.measured or 0.0), figure.unit)


def _difference(measured: Sequence[ReportFigure]) -> float | None:
    if len(measured) < 2:
        return None
    first, last = (_linear_figure(figure) for figure in (measured[0], measured[-1]))
    difference = last / first - 1 if first > 0 and last > 0 else math.inf
    return difference if math.isfinite(difference) else None


def differing_products(names: Sequence[str], reports: Sequence[ReportFigures]) -> str | None:
    """Return what a reader must know first: that reports measured different GPU products.

    None where all that measured anything measured the same ones.
    """
    measured = {
        name: list(dict.fromkeys(machine.product for machine in report.machines))
        for name, report in zip(names, reports, strict=True)
        if report.machines
    }
    if len({frozenset(products) for products in measured.values()}) < 2:
        return None
    told = "; ".join(f"{name}: {' and '.join(products)}" for name, products in measured.items())
    every = [product for products in measured.values() for product in products]
    if len(set(every)) == len(every):
        held = "no measured figure is held against another's"
        return f"different GPU products, none of them in two reports ({told}): {held}"
    return f"GPU products differ ({told}): figures are held together on one product alone"


def differing_conditions(names: Sequence[str], reports: Sequence[ReportFigures]) -> Iterator[str]:
    """Yield a warning for each thing that differs between reports besides their figures."""
    for target in dict.fromkeys(m.target for report in reports for m in report.machines):
        told = {
            name: _conditions(machines)
            for name, report in zip(names, reports, strict=True)
            if (machines := [each for each in report.machines if each.target == target])
        }
        for what in dict.fromkeys(what for values in told.values() for what in values):
            known = {name: values[what] for name, values in told.items() if what in values}
            yield from _told(f"{target}: {what} differs", known)
    once = counted_once(compare_figures(reports))
    if count := sum(map(_protocols_differ, once)):
        verb = agreeing(count, "was", "were")
        yield f"protocol differs: {counted(count, 'measurement')} {verb} made by another one"
    other = [r for r in once if r.one_measurement and r.difference and not _protocols_differ(r)]
    if (count := len(other)) and len({report.rules for report in reports}) == 1:
        has = agreeing(count, "has", "have")
        yield f"{counted(count, 'measurement')} of one GPU and one second {has} other samples"
    named = zip(names, reports, strict=True)
    rules = {name: str(report.rules) for name, report in named if report.rules}
    yield from _told("judging rules differ", rules)


def _protocols_differ(row: ComparedFigure) -> bool:
    measured = [figure for figure in row.figures if figure and figure.ci90]
    return len({figure.protocol for figure in measured} - {None}) > 1


def _conditions(machines: Sequence[ReportMachine]) -> dict[str, str]:
    found: dict[str, dict[str, None]] = {}
    for machine in machines:
        limit = machine.power_limit_w
        told = {
            "GPU product": machine.product,
            "card": machine.gpu_uuid,
            "driver": machine.driver,
            "VBIOS": machine.vbios or "not recorded",
            "power limit": "not recorded" if limit is None else f"{limit:g} W",
            "commit that measured": (machine.commit or "not recorded")[:12],
        }
        for what, value in told.items():
            found.setdefault(what, {})[value] = None
    return {what: ", ".join(values) for what, values in found.items()}


def _told(what: str, values: Mapping[str, str]) -> Iterator[str]:
    having: dict[str, list[str]] = {}
    for name, value in values.items():
        having.setdefault(value, []).append(name)
    if len(having) > 1:
        each = "; ".join(f"{' and '.join(names)}: {value}" for value, names in having.items())
        yield f"{what}: {each}"
