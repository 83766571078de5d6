"""Remedies for an inconclusive verdict: more processes, a quieter machine, a margin.

Each remedy is estimated from the samples at hand, as if the next run scattered like this one. A
wider margin must be declared before a new run; it never rescues the run that suggested it.
"""

import math

from assay.records.figure_words import declared_percent, percent
from assay.records.workloads import Judging
from assay.shared.counting import counted
from assay.statistics.summaries import (
    MIN_PROCESSES,
    MOST_PROCESSES,
    Summary,
    floor_of,
    processes_needed,
)

MENDED = "a measurement that the hardware can make; neither processes nor margins mend this one"
CONTROLLED = "a run whose A/A control has usable blocks"


def too_few(processes: int) -> str:
    """Return what helps where there are not enough processes for any verdict."""
    return (
        counted(MIN_PROCESSES - processes, "more fresh process", "more fresh processes")
        + " with usable samples"
    )


def two_sided(summary: Summary, claimed: float, edge: float, judging: Judging) -> str:
    """Return what helps an interval across the edge ``+-edge`` (a log) around ``claimed``."""
    low, high = summary.low - math.log(claimed), summary.high - math.log(claimed)
    distance = abs(abs(low + high) / 2 - edge)
    margin = _rounded_up(math.expm1(max(abs(low), abs(high))))
    options = [*_narrower(summary, distance, judging, "the edge of the margin"), margin]
    return "; or ".join(options)


def one_sided(summary: Summary, claimed: float, judging: Judging) -> str:
    """Return what helps an interval that straddles ``claimed``."""
    distance = abs((summary.low + summary.high) / 2 - math.log(claimed))
    return "; or ".join(_narrower(summary, distance, judging, "the claimed figure"))


def noisy(control: Summary, margin: float, judging: Judging) -> str:
    """Return what helps where the A/A control's interval reaches beyond the margin."""
    edge = math.log1p(margin)
    options = [f"a quieter machine, with a noise floor below {declared_percent(margin)}"]
    distance = edge - abs(control.low + control.high) / 2
    if distance > 0:
        least = control.processes + 1
        needed = processes_needed(control.spread, distance, judging, least)
        if needed is not None:
            options.insert(0, _processes(needed, control.processes))
    return "; or ".join([*options, _rounded_up(floor_of(control) or 0.0)])


def within_noise(control: Summary, distance: float, judging: Judging) -> str:
    """Return what helps a one-sided figure inside the noise floor."""
    quiet = f"a quieter machine, with a noise floor below {percent(math.expm1(distance))}"
    reach = distance - abs(control.low + control.high) / 2
    needed = None
    if reach > 0:
        needed = processes_needed(control.spread, reach, judging, control.processes + 1)
    return quiet if needed is None else f"{_processes(needed, control.processes)}; or {quiet}"


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
