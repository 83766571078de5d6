"""The decision: how a measured interval stands to a claimed figure. Pure functions of numbers.

``equals`` claims: two one-sided tests. With x = ln(measured / claimed) and m the declared margin,
the claim is reproduced when the whole interval of x lies within +-ln(1 + m); exceeded when it lies
wholly beyond on the better side, not reproduced wholly beyond on the worse side; else inconclusive.
(A symmetric margin in log space: 8 % more and 8 % less by the same factor.) A ``same`` claim says
that two things are alike: it is judged so too, but no side of it is the better one.

``at_least`` and ``at_most`` claims are one-sided and get no margin: reproduced when the whole
interval is on the claimed side of the figure (touching it counts), not reproduced when it is wholly
on the other, else inconclusive. They are never ``exceeded``: more than was asked for is what was
asked for. A range has two ends: it is reached from the lower one on, and ``exceeded`` wholly above
the upper one.

A figure printed with a tilde stands for all that rounds to it, where that is more than the margin;
of any ratio half a unit of its last digit comes to the margin.

An inconclusive decision carries a remedy: what would have decided it.

Before either, a broken measurement or a missing A/A control makes the verdict inconclusive,
whatever the interval says. So does the noise floor: above the declared margin of a two-sided
figure, or above the distance of the measured figure from a one-sided one, which has no margin.

Remedies are estimated from the samples at hand, as if the next run scattered like this one. A wider
margin must be declared before a new run; it never rescues the run that suggested it.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

from assay.judging.case import Measured
from assay.judging.printed_figures import to_base
from assay.records.claims import Claim, Relation
from assay.records.units import Unit, declared_percent, margin_factor, percent
from assay.records.verdicts import Status
from assay.records.workloads import Judging
from assay.shared.counting import agreeing, counted
from assay.statistics.summaries import (
    MOST_PROCESSES,
    Summary,
    processes_needed,
)

MENDED = "a measurement that the hardware can make; neither processes nor margins mend this one"
CONTROLLED = "a run whose A/A control has usable blocks"

Side = Literal["above", "below"]
"""Of a claimed figure."""


@dataclass(frozen=True)
class Decision:
    """A status, its reason code, and the clause that explains it."""

    status: Status
    reason: str | None
    clause: str
    remedy: str | None = None
    """What would make an inconclusive verdict conclusive."""


def margin_of(claim: Claim, unit: Unit, judging: Judging) -> float:
    """Return a claim's margin: the declared one, which ratios of interleaved arms have of their
    own, or what its tilde allows where that is more.

    A ratio is printed with few digits, and may be any that rounds to them: 2.6 is 2.55 or more.
    That widens its margin, at most by as much again.
    """
    if unit is not Unit.RATIO:
        return max(judging.absolute_margin, claim.rounding)
    declared = judging.ratio_margin
    widened = (1 + declared) * min(_rounded_by(claim), declared)
    return max(declared + widened, claim.rounding)


def _rounded_by(claim: Claim) -> float:
    """Return by which share a printed ratio may lie above what was rounded to it."""
    if claim.relation is not Relation.EQUALS or claim.about or not (claim.value and claim.unit):
        return 0.0
    least = claim.value - (claim.resolution or 0.0) / 2
    printed, rounded = (to_base(value, claim.unit)[0] for value in (claim.value, least))
    return printed / rounded - 1 if rounded > 0 else math.inf


def decide(
    measured: Measured, claimed: float, claim: Claim, judging: Judging, to: float | None = None
) -> Decision:
    """Judge a measured quantity against ``claimed``, the claim's positive figure in the same base
    unit, or against the range from there ``to``.
    """
    relation, summary = claim.relation, measured.summary
    margin = margin_of(claim, measured.unit, judging)
    if (found := gate(measured)) is not None:
        return found
    if relation.two_sided:
        if (found := noisy(measured, margin, judging)) is not None:
            return found
        better: Side = "below" if measured.unit is Unit.MS else "above"
        alike = relation is Relation.SAME  # of which neither side is the better one
        decision = equivalence(summary, claimed, margin, None if alike else better)
        if decision.status is Status.INCONCLUSIVE:
            words = _two_sided_remedy(summary, claimed, math.log1p(margin), judging)
            return replace(decision, remedy=words)
        return decision
    decision = one_sided(summary, claimed, relation, to)
    if decision.status is Status.INCONCLUSIVE:
        return replace(decision, remedy=one_sided_remedy(summary, claimed, judging))
    return _within_noise(measured, claimed, judging) or decision


def gate(measured: Measured) -> Decision | None:
    """Return what makes any interval inconclusive."""
    processes, fewest = measured.summary.processes, measured.summary.fewest
    if measured.broken is not None:
        return Decision(Status.INCONCLUSIVE, "below_roofline_bound", measured.broken, MENDED)
    if processes < fewest:
        clause = (
            f"only {counted(processes, 'fresh process', 'fresh processes')} "
            f"{agreeing(processes, 'has', 'have')} usable samples; a verdict needs {fewest}"
        )
        more = counted(fewest - processes, "more fresh process", "more fresh processes")
        words = f"{more} with usable samples"
        return Decision(Status.INCONCLUSIVE, "too_few_processes", clause, words)
    if measured.controlled and measured.noise_floor is None:
        clause = "the A/A control has no usable samples, so the noise of this run is unknown"
        return Decision(Status.INCONCLUSIVE, "no_control", clause, CONTROLLED)
    return None


def noisy(measured: Measured, margin: float, judging: Judging) -> Decision | None:
    """Return an open decision where a binary differs from itself by more than the margin."""
    control, floor = measured.control, measured.noise_floor
    if control is None or floor is None or floor <= margin:
        return None
    clause = (
        f"the same binary against itself differs by up to {percent(floor)}"
        f" in this run, more than the declared margin of {declared_percent(margin)}"
    )
    quiet = f"a quieter machine, with a noise floor below {declared_percent(margin)}"
    options = (*_settling(control, math.log1p(margin), judging), quiet, _rounded_up(floor))
    words = "; or ".join(options)
    return Decision(Status.INCONCLUSIVE, "margin_below_noise_floor", clause, words)


def _within_noise(measured: Measured, claimed: float, judging: Judging) -> Decision | None:
    """Return an open decision on a figure nearer to its bound than a binary to itself, or None."""
    control, floor = measured.control, measured.noise_floor
    distance = abs(measured.summary.estimate - math.log(claimed))
    if control is None or floor is None or distance > math.log1p(floor):
        return None
    clause = (
        "its distance to the figure is within the noise of this run: the same binary differs from "
        f"itself by up to {percent(floor)}"
    )
    quiet = f"a quieter machine, with a noise floor below {percent(math.expm1(distance))}"
    words = "; or ".join((*_settling(control, distance, judging), quiet))
    return Decision(Status.INCONCLUSIVE, "within_noise_floor", clause, words)


def equivalence(summary: Summary, claimed: float, margin: float, better: Side | None) -> Decision:
    """Make two one-sided tests of ln(measured / claimed) against +-ln(1 + margin)."""
    edge, centre = math.log1p(margin), math.log(claimed)
    low, high = summary.low - centre, summary.high - centre
    within = f"the margin declared before the run, a factor of {margin_factor(margin)}"
    if -edge <= low and high <= edge:
        return Decision(Status.REPRODUCED, None, f"the whole interval lies inside {within}")
    for side, beyond in (("above", low > edge), ("below", high < -edge)):
        if beyond:
            status = Status.EXCEEDED if better == side else Status.NOT_REPRODUCED
            return Decision(status, None, f"the whole interval lies {side} {within}")
    clause = f"the interval reaches across the edge of {within}"
    return Decision(Status.INCONCLUSIVE, "interval_too_wide", clause)


def one_sided(
    summary: Summary, claimed: float, relation: Relation, to: float | None = None
) -> Decision:
    """Decide by whether the whole interval lies on one side of the claimed figure; of a range
    ``to`` there, its lower end.
    """
    limit = math.log(claimed)
    if to is not None and summary.low > math.log(to):
        return Decision(Status.EXCEEDED, None, "the whole interval lies above that range")
    above = summary.low >= limit
    below = summary.high <= limit
    wanted, missed = (above, below) if relation is Relation.AT_LEAST else (below, above)
    words = "at least" if relation is Relation.AT_LEAST else "at most"
    if wanted:
        return Decision(Status.REPRODUCED, None, f"the whole interval is {words} that figure")
    if missed:
        clause = f"the whole interval is {'below' if below else 'above'} that figure"
        return Decision(Status.NOT_REPRODUCED, None, clause)
    clause = "the interval lies on both sides of that figure"
    return Decision(Status.INCONCLUSIVE, "interval_straddles", clause)


def _two_sided_remedy(summary: Summary, claimed: float, edge: float, judging: Judging) -> str:
    """Return what helps an interval across the edge ``+-edge`` (a log) around ``claimed``."""
    low, high = summary.low - math.log(claimed), summary.high - math.log(claimed)
    distance = abs(abs(low + high) / 2 - edge)
    margin = _rounded_up(math.expm1(max(abs(low), abs(high))))
    options = [*_narrower(summary, distance, judging, "the edge of the margin"), margin]
    return "; or ".join(options)


def one_sided_remedy(summary: Summary, claimed: float, judging: Judging) -> str:
    """Return what helps an interval that straddles ``claimed``."""
    distance = abs((summary.low + summary.high) / 2 - math.log(claimed))
    return "; or ".join(_narrower(summary, distance, judging, "the claimed figure"))


def _settling(control: Summary, edge: float, judging: Judging) -> list[str]:
    """Return how many processes would bring a control's interval inside ``edge``, if any would."""
    distance, ran = edge - abs(control.low + control.high) / 2, control.processes
    if distance <= 0:
        return []
    needed = processes_needed(control.spread, distance, judging, ran + 1)
    return [] if needed is None else [_processes(needed, ran)]


def _narrower(summary: Summary, distance: float, judging: Judging, what: str) -> list[str]:
    """Return what would bring half the interval below ``distance``."""
    half = (summary.high - summary.low) / 2
    needed = processes_needed(summary.spread, distance, judging, summary.processes + 1)
    if needed is None:
        return [
            f"nothing short of {MOST_PROCESSES} processes, for the figure lies too near {what} at "
            f"this scatter ({percent(summary.spread)} between processes)"
        ]
    quieter = summary.spread * distance / half
    return [
        _processes(needed, summary.processes),
        f"a quieter machine, whose processes scatter by {percent(quieter)} at most (here "
        f"{percent(summary.spread)})",
    ]


def _processes(needed: int, ran: int) -> str:
    return f"about {needed} fresh processes that scatter like these {ran}"


def _rounded_up(fraction: float) -> str:
    """A margin in tenths of a per cent, wide enough."""
    tenths = math.ceil(fraction * 1000 - 1e-9)
    return f"a margin of {declared_percent(tenths / 1000)} or more, declared before a new run"
