"""Several reports side by side: what changed, what shifted, and what else differs. Pure."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from assay.findings.card_spread import linear
from assay.records.evaluations import NotRun
from assay.records.report_figures import ArmRate, ReportFigure, ReportFigures, ReportMachine
from assay.shared.counting import agreeing, counted

NOT_ASKED = frozenset({NotRun.NOT_SELECTED.value, NotRun.NO_DEVICE.value})
"""Reasons by which a report says nothing of a figure: that another does is no change."""


class Standing(StrEnum):
    """How a figure stands between reports, in the order in which they are shown."""

    CHANGED = "changed"
    """Another status, or another thing that it would be elsewhere."""
    SHIFTED = "shifted"
    """The same status, and two intervals without a common point."""
    REST = "rest"


@dataclass(frozen=True)
class ComparedFigure:
    """One claim on one target in every report."""

    claim: str
    target: str | None
    standing: Standing
    figures: tuple[ReportFigure | None, ...]
    """One a report; None where it says nothing of it."""
    difference: float | None
    """The last measured figure over the first, less 1; None where there are no two of one
    question."""
    asked_otherwise: bool
    """Whether the reports measured different things for it."""


@dataclass(frozen=True)
class PairedWorkload:
    """One arm on one workload, as two GPU products ran it."""

    comparison: str
    arm: str
    variant: str
    workload: str
    products: tuple[str, str]
    rates: tuple[ArmRate, ArmRate]
    ratio: float
    """The second product's rate over the first's."""
    ci90: tuple[float, float]
    """Of two intervals measured apart: their ends subtracted, which is conservative."""


def compare_figures(reports: Sequence[ReportFigures]) -> list[ComparedFigure]:
    """Return every figure of the reports: changed ones first, then shifted ones, then the rest."""
    by_key = [{(f.claim, f.target): f for f in report.figures} for report in reports]
    keys = dict.fromkeys(key for figures in by_key for key in figures)
    rows = [_compared(key, tuple(figures.get(key) for figures in by_key)) for key in keys]
    order = list(Standing)
    return sorted(rows, key=lambda row: (order.index(row.standing), row.claim, row.target or ""))


def _compared(
    key: tuple[str, str | None], figures: tuple[ReportFigure | None, ...]
) -> ComparedFigure:
    there = [figure for figure in figures if figure is not None]
    measured = [figure for figure in there if figure.ci90 and isinstance(figure.measured, float)]
    questions = {figure.question for figure in measured} - {None}  # of some nobody knows
    one_question = len(questions) < 2 and len({figure.unit for figure in measured}) < 2
    told = [figure for figure in there if figure.reason not in NOT_ASKED]
    changed = len({(figure.status, figure.as_if) for figure in told}) > 1
    shifted = one_question and any(_apart(one, two) for one, two in combinations(measured, 2))
    standing = Standing.REST
    if changed or shifted:
        standing = Standing.CHANGED if changed else Standing.SHIFTED
    return ComparedFigure(
        *key,
        standing,
        figures,
        difference=_difference(measured) if one_question else None,
        asked_otherwise=not one_question,
    )


def _apart(one: ReportFigure, two: ReportFigure) -> bool:
    assert one.ci90 and two.ci90
    return one.ci90[1] < two.ci90[0] or two.ci90[1] < one.ci90[0]


def _difference(measured: Sequence[ReportFigure]) -> float | None:
    if len(measured) < 2:
        return None
    first, last = (
        linear(float(figure.measured or 0.0), figure.unit) for figure in (measured[0], measured[-1])
    )
    difference = last / first - 1 if first > 0 and last > 0 else math.inf
    return difference if math.isfinite(difference) else None


def differing_conditions(names: Sequence[str], reports: Sequence[ReportFigures]) -> Iterator[str]:
    """Yield a warning for each thing that differs between reports besides their figures."""
    targets = dict.fromkeys(m.target for report in reports for m in report.machines)
    for target in targets:
        on = {
            name: (machine, report.created is not None)
            for name, report in zip(names, reports, strict=True)
            for machine in report.machines
            if machine.target == target
        }
        yield from _differing(target, on)
    if count := sum(_protocols_differ(row) for row in compare_figures(reports)):
        verb = agreeing(count, "was", "were")
        yield f"protocol differs: {counted(count, 'figure')} {verb} measured by another one"
    read = [(name, report) for name, report in zip(names, reports, strict=True) if report.rules]
    rules = {name: str(report.rules) for name, report in read}
    yield from _told("judging rules", rules)


def _protocols_differ(row: ComparedFigure) -> bool:
    measured = [figure for figure in row.figures if figure and figure.ci90]
    return len({figure.protocol for figure in measured} - {None}) > 1


def _differing(target: str, on: Mapping[str, tuple[ReportMachine, bool]]) -> Iterator[str]:
    """``on``: each report's machine, and whether the report was signed, and so read whole."""
    told = {name: _conditions(*each) for name, each in on.items()}
    for what in dict.fromkeys(what for values in told.values() for what in values):
        known = {name: values[what] for name, values in told.items() if what in values}
        yield from _told(f"{target}: {what}", known)


def _conditions(machine: ReportMachine, whole: bool) -> dict[str, str]:
    limit, commit = machine.power_limit_w, machine.commit
    told = {"commit that measured": commit[:12] if commit else "not recorded"} if whole else {}
    return {
        "card": machine.gpu_uuid,
        "driver": machine.driver,
        "VBIOS": machine.vbios or "not recorded",
        "power limit": "not recorded" if limit is None else f"{limit:g} W",
        **told,
    }


def _told(what: str, values: Mapping[str, str]) -> Iterator[str]:
    if len(set(values.values())) > 1:
        yield f"{what} differs: " + "; ".join(f"{name}: {value}" for name, value in values.items())


def paired_workloads(reports: Iterable[ReportFigures]) -> list[PairedWorkload]:
    """Return arms that two GPU products ran on one workload; of several runs on one product the
    first report's counts.
    """
    by_arm: dict[tuple[str, str, str, str], dict[str, ArmRate]] = {}
    for report in reports:
        products = {machine.target: machine.product for machine in report.machines}
        for rate in report.rates:
            key = rate.comparison, rate.arm, rate.variant, rate.workload
            product = products.get(rate.target)
            if product is not None:
                by_arm.setdefault(key, {}).setdefault(product, rate)
    return [
        _paired(key, one, two)
        for key, rates in by_arm.items()
        for one, two in combinations(rates.items(), 2)
    ]


def _paired(
    key: tuple[str, str, str, str], one: tuple[str, ArmRate], two: tuple[str, ArmRate]
) -> PairedWorkload:
    (first, slow), (second, fast) = one, two
    return PairedWorkload(
        *key,
        products=(first, second),
        rates=(slow, fast),
        ratio=fast.tflop_per_s / slow.tflop_per_s,
        ci90=(
            math.exp(math.log(fast.ci90[0]) - math.log(slow.ci90[1])),
            math.exp(math.log(fast.ci90[1]) - math.log(slow.ci90[0])),
        ),
    )
