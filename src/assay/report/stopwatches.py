"""The report's table of three stopwatches, and how many of them agree."""

from collections.abc import Iterator, Sequence

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import stopwatch_path
from assay.findings.stopwatch_agreement import (
    Agreement,
    Deviations,
    Off,
    StopwatchReading,
    coverage,
)
from assay.report import formatting as fmt
from assay.report.formatting import Row, link


def agreement_section(
    catalog: Catalog, evidence: Evidence, found: Sequence[Agreement]
) -> Row | None:
    """Return the table of stopwatches; None where no other stopwatch was asked."""
    if not found:
        return None
    limit = catalog.judging.stopwatch_agreement
    judged = [one.from_judged for one in found if one.from_judged.compared]
    beside = [one.from_events for one in found if one.from_events.compared]
    covered = coverage(evidence, found)
    return {
        "limit": fmt.declared_percent(limit),
        "judged": _counted(judged, limit),
        "hidden": sum(one.in_cycles(limit) and not one.in_time(limit) for one in judged),
        "beside": _counted(beside, limit) if beside else None,
        "covered": covered,
        "without": ", ".join(f"{comparison} ({target})" for target, comparison in covered.without),
        "rows": [_row(one, limit) for one in found],
    }


def _counted(standings: Sequence[Deviations], limit: float) -> tuple[int, int, int]:
    """Return how many arms there are, how many are further off, and how many of these agree in SM
    cycles.
    """
    beyond = sum(one.in_time(limit) for one in standings)
    return len(standings), beyond, sum(one.by_clock(limit) for one in standings)


def _row(one: Agreement, limit: float) -> Row:
    """Return an arm by three stopwatches: (time, clock) of each, and how far the others are off."""
    judged, events = one.from_judged, one.from_events
    return {
        "of": one,
        "times": [_time(one.judged), _time(one.events)],
        "others": [
            (_time(one.nvbench), _off(judged.nvbench, events.nvbench)),
            (_time(one.nsight), _off(judged.nsight, events.nsight)),
        ],
        "standing": "; ".join(_words(one, limit)),
        "marked": judged.in_cycles(limit),
        "link": link(f"evidence/{stopwatch_path(one.target, one.comparison)}"),
    }


def _words(one: Agreement, limit: float) -> Iterator[str]:
    """Yield how the others stand to the judged time, and why one is missing."""
    nvbench = _differs(one.from_judged.nvbench, limit)
    nsight = _differs(one.from_judged.nsight, limit)
    if nvbench and nvbench == nsight:
        yield f"each {nvbench}"
    else:
        said = [f"{name} {how}" for name, how in (("NVBench", nvbench), ("Nsight", nsight)) if how]
        if one.from_judged.compared:
            yield from said or ["agree"]
    if one.nvbench.ms is None:
        missing = f"NVBench: {fmt.words(one.nvbench_status)}"
        # What follows an error's first line is advice to whoever debugs; the record has it.
        yield missing + (f" ({one.detail.splitlines()[0]})" if one.detail else "")


def _differs(off: Off, limit: float) -> str:
    """In which measure a stopwatch is further off than ``limit``; nothing where in none."""
    if not off.in_time(limit):
        return "differs in cycles" if off.in_cycles(limit) else ""
    if off.cycles is None:
        return "differs in time, cycles not known"
    return f"differs in time{' and in' if off.in_cycles(limit) else ', agrees in'} cycles"


def _time(reading: StopwatchReading) -> tuple[str, str]:
    clock = "" if reading.mhz is None else f"{reading.mhz:.0f}\N{NO-BREAK SPACE}MHz"
    return fmt.quantity(reading.ms, "ms"), clock


def _off(judged: Off, events: Off) -> tuple[str, str, str]:
    """Return the distance from the judged time, in cycles, and from our events beside NVBench."""
    cycles = "" if judged.cycles is None else f"{_deviation(judged.cycles)} in cycles"
    beside = "" if events.time is None else f"events: {_deviation(events.time)}"
    if events.cycles is not None:
        beside += f", {_deviation(events.cycles)}"
    return _deviation(judged.time), cycles, beside


def _deviation(off: float | None) -> str:
    return fmt.NOTHING if off is None else f"{100 * off:+.1f}\N{NO-BREAK SPACE}%"
