"""How far cards and runs spread: one figure as several runs measured it. Pure.

The interval of a figure is that of one run on one card. What another run finds differs by more: by
the card, by the run, by the driver, by what this repository measured with. Runs tell these apart
only where they differ in one of them and agree in the rest; where they do not, that is said.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from statistics import median, stdev

from scipy.special import stdtrit

from assay.records.report_figures import (
    OtherFigure,
    OtherRun,
    OtherRunsRecord,
    ReportFigure,
    ReportFigures,
    ReportMachine,
)
from assay.records.units import Unit

FEWEST_RUNS = 3
"""Runs that a spread is predicted from: of two nothing is known but their difference."""
LEVEL = 0.95
"""One-sided, of each end of a prediction interval of 90 %."""


@dataclass(frozen=True)
class Observation:
    """One figure of one run on one card."""

    report: str
    machine: ReportMachine
    measured: float
    ci90: tuple[float, float]
    protocol: str | None
    binary_sha256: str | None

    def differs_in(self, other: "Observation") -> frozenset[str]:
        """Return what else than the figure is another: card, driver, power limit, protocol,
        binary, commit.
        """
        mine, theirs = self.machine, other.machine
        pairs = {
            "card": (mine.gpu_uuid, theirs.gpu_uuid),
            "driver": (mine.driver, theirs.driver),
            "power limit": (mine.power_limit_w, theirs.power_limit_w),
            "protocol": (self.protocol, other.protocol),
            "binary": (self.binary_sha256, other.binary_sha256),
            "commit": (mine.commit, theirs.commit),
        }
        return frozenset(name for name, (one, two) in pairs.items() if one != two)


@dataclass(frozen=True)
class FigureSpread:
    """One figure on one GPU product, as several runs measured it."""

    claim: str
    target: str
    unit: str | None
    observations: tuple[Observation, ...]
    """This run's first where it measured the figure, then newest first."""
    extent: float | None
    """The largest over the smallest, less 1; None where a figure has no logarithm."""
    apart: bool
    """Whether two of the intervals have no point in common."""
    another: float | None
    """Half-width of the 90 % prediction interval for one more card and run, a fraction; None for
    fewer than three runs."""

    @property
    def cards(self) -> int:
        """Return how many cards were measured."""
        return len({each.machine.gpu_uuid for each in self.observations})


@dataclass(frozen=True)
class CauseOfSpread:
    """Pairs of runs that differ in the same things."""

    differs: str
    """``run``: in nothing that is recorded; else what differs, in words."""
    pairs: int
    figures: int
    apart: int
    """Pairs whose intervals have no point in common."""
    typical: float
    """Median of the larger over the smaller figure, less 1."""
    largest: float


def other_runs(own: ReportFigures, reports: Iterable[ReportFigures]) -> OtherRunsRecord:
    """Return what other reports measured, each figure of a measurement once, from the report signed
    last.

    What ``own`` tells of a measurement that it took over is its own, and no other run's.
    """
    known = {
        (*machine.measurement, figure.claim)
        for machine in own.machines
        for figure in _other_figures(own, machine)
    }
    found = []
    for report in sorted(reports, key=lambda each: (each.created or "", each.run), reverse=True):
        for machine in report.machines if report.created else ():
            figures = {
                (*machine.measurement, figure.claim): figure
                for figure in _other_figures(report, machine)
            }
            new = {key: figure for key, figure in figures.items() if key not in known}
            known |= new.keys()
            if new:
                found.append(
                    OtherRun(
                        report=report.run,
                        manifest_sha256=report.manifest_sha256,
                        created=report.created or "",
                        machine=machine,
                        figures=tuple(new.values()),
                    )
                )
    return OtherRunsRecord(schema="assay/other_runs/1", runs=tuple(found))


def spreads(
    own: ReportFigures | None, others: OtherRunsRecord | None
) -> dict[tuple[str, str], FigureSpread]:
    """Return every figure that more than one run, or card, measured, by claim and target.

    Runs that were asked something else for the claim (another problem, another count) are left out:
    this run's question decides, or else the newest's.
    """
    seen: dict[tuple[str, str], list[tuple[ReportFigure | OtherFigure, Observation]]] = {}
    every: Iterator[tuple[ReportFigure | OtherFigure, Observation]]
    every = chain(_own(own), _others(others))
    for figure, observation in every:
        seen.setdefault((figure.claim, observation.machine.target), []).append(
            (figure, observation)
        )
    found = {}
    for (claim, target), pairs in seen.items():
        first = pairs[0][0]
        alike = [
            each
            for figure, each in pairs
            if (figure.question, figure.unit) == (first.question, first.unit)
        ]
        if len(alike) > 1:
            found[claim, target] = _spread(claim, target, first.unit, alike)
    return found


def causes(found: Iterable[FigureSpread]) -> list[CauseOfSpread]:
    """Return what pairs of runs differ in, and how far their figures lie apart.

    Differences of the commit alone are named only where nothing else differs: equal binaries under
    an equal protocol were timed by what may be other code of the pipeline.
    """
    groups: dict[str, list[tuple[str, float, bool]]] = {}
    for spread in found:
        for one, two in combinations(spread.observations, 2):
            ratio = _log_ratio(one.measured, two.measured, spread.unit)
            if ratio is not None:
                pair = (spread.claim, abs(ratio), _are_apart(one, two))
                groups.setdefault(_differing(one.differs_in(two)), []).append(pair)
    return [_cause(differs, pairs) for differs, pairs in sorted(groups.items())]


def extent_of(values: Sequence[float]) -> float | None:
    """Return the largest over the smallest, less 1; None where one has no logarithm."""
    return max(values) / min(values) - 1 if min(values) > 0 else None


def linear(value: float, unit: str | None) -> float:
    """Return a gain in per cent as the ratio it means; other figures as they are."""
    return 1 + value / 100 if unit == Unit.PERCENT.value else value


def _differing(names: frozenset[str]) -> str:
    telling = names - {"commit"} or names
    order = ("card", "driver", "power limit", "protocol", "binary", "commit")
    return ", ".join(name for name in order if name in telling) or "run"


def _cause(differs: str, pairs: Sequence[tuple[str, float, bool]]) -> CauseOfSpread:
    ratios = [math.expm1(ratio) for _, ratio, _ in pairs]
    return CauseOfSpread(
        differs,
        pairs=len(pairs),
        figures=len({claim for claim, _, _ in pairs}),
        apart=sum(apart for _, _, apart in pairs),
        typical=median(ratios),
        largest=max(ratios),
    )


def _other_figures(report: ReportFigures, on: ReportMachine) -> Iterator[OtherFigure]:
    for figure in report.figures:
        said = report.claims.get(figure.claim)
        if (
            report.machine(figure) == on
            and isinstance(figure.measured, float)
            and figure.ci90 is not None
        ):
            yield OtherFigure(
                claim=figure.claim,
                status=figure.status,
                unit=figure.unit,
                measured=figure.measured,
                ci90=figure.ci90,
                protocol=figure.protocol,
                binary_sha256=figure.binary_sha256,
                question=figure.question,
                answered_by=said.answered_by if said else None,
            )


def _own(own: ReportFigures | None) -> Iterator[tuple[ReportFigure, Observation]]:
    for figure in own.figures if own else ():
        measured, machine = figure.measured, own.machine(figure) if own else None
        if own and machine and isinstance(measured, float) and figure.ci90:
            yield figure, _observed(own.run, machine, figure, measured, figure.ci90)


def _others(others: OtherRunsRecord | None) -> Iterator[tuple[OtherFigure, Observation]]:
    for run in others.runs if others else ():
        for figure in run.figures:
            yield figure, _observed(run.report, run.machine, figure, figure.measured, figure.ci90)


def _observed(
    report: str,
    machine: ReportMachine,
    figure: ReportFigure | OtherFigure,
    measured: float,
    ci90: tuple[float, float],
) -> Observation:
    return Observation(report, machine, measured, ci90, figure.protocol, figure.binary_sha256)


def _spread(
    claim: str, target: str, unit: str | None, found: Sequence[Observation]
) -> FigureSpread:
    values = [linear(each.measured, unit) for each in found]
    logs = [math.log(value) for value in values] if min(values) > 0 else []
    another = None
    if len(logs) >= FEWEST_RUNS:
        t = float(stdtrit(len(logs) - 1, LEVEL))
        another = math.expm1(t * stdev(logs) * math.sqrt(1 + 1 / len(logs)))
    return FigureSpread(
        claim,
        target,
        unit,
        tuple(found),
        extent=extent_of(values),
        apart=any(_are_apart(one, two) for one, two in combinations(found, 2)),
        another=another,
    )


def _log_ratio(one: float, two: float, unit: str | None) -> float | None:
    first, second = linear(one, unit), linear(two, unit)
    return math.log(first / second) if first > 0 and second > 0 else None


def _are_apart(one: Observation, two: Observation) -> bool:
    return one.ci90[1] < two.ci90[0] or two.ci90[1] < one.ci90[0]
