"""The judged times beside two other stopwatches: NVBench and Nsight Compute. Pure.

No time of another stopwatch is judged or averaged in. Where the SM clocks are known, cycles are
compared, too: they tell a stopwatch that is wrong from a GPU that ran at another clock.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.nsight_csv import launch_clock_mhz, launch_ms
from assay.evidence.stages import stopwatch_path
from assay.records.measurements import BenchmarkRecord
from assay.report import formatting as fmt
from assay.statistics import summaries as stats

ArmKey = tuple[str, str, str]  # (target, comparison, arm)


class ClockSpread(NamedTuple):
    """Mean SM clock of an arm's launches in MHz, one a turn, by cycles over time."""

    median_mhz: float
    low_mhz: float
    high_mhz: float


def clocks_of(records: Iterable[BenchmarkRecord]) -> dict[ArmKey, ClockSpread]:
    """Return the clocks of every arm, by its turns in blocks that count."""
    found: dict[ArmKey, list[float]] = {}
    for record in records:
        for process in record.processes:
            for turn in (t for block in process.blocks if block.void is None for t in block.turns):
                if turn.clock_mhz is not None:
                    key = record.target, record.comparison, turn.arm
                    found.setdefault(key, []).append(turn.clock_mhz)
    return {key: ClockSpread(median(mhz), min(mhz), max(mhz)) for key, mhz in found.items()}


@dataclass(frozen=True)
class StopwatchReading:
    """One stopwatch's reading of an arm; None where it says nothing."""

    ms: float | None = None
    mhz: float | None = None

    def off(self, judged: "StopwatchReading") -> tuple[float | None, float | None]:
        """Return how far it lies from the judged reading, in time and in cycles: ratios less 1."""
        if self.ms is None or not judged.ms:
            return None, None
        time = self.ms / judged.ms
        if self.mhz is None or not judged.mhz:
            return time - 1, None
        return time - 1, time * self.mhz / judged.mhz - 1


@dataclass(frozen=True)
class Agreement:
    """One arm by every stopwatch."""

    target: str
    comparison: str
    arm: str
    judged: StopwatchReading
    """Medians of the benchmark's samples and turns: what verdicts rest on."""
    nvbench: StopwatchReading
    nsight: StopwatchReading
    """Of all kernels of a launch together, at whatever clock one lone launch runs."""
    missing: str
    """Why NVBench says nothing; empty where it does."""

    @property
    def off(self) -> list[tuple[float, float]]:
        """Return how far each other stopwatch is off, in time and in cycles.

        Where a clock is not known, nothing explains a difference in time.
        """
        offs = (each.off(self.judged) for each in (self.nvbench, self.nsight))
        return [(t, t if cycles is None else cycles) for t, cycles in offs if t is not None]

    def in_time(self, limit: float) -> bool:
        """Return whether a stopwatch differs in time by more than ``limit``, a fraction."""
        return any(abs(time) > limit for time, _ in self.off)

    def disagrees(self, limit: float) -> bool:
        """Return whether the clocks leave a difference that they do not explain.

        A kernel's time goes with the clock in part: none of it (compared in time) to all (in
        cycles). What is beyond ``limit`` in both, on one side, no such part explains.
        """
        return any(min(off) > limit or max(off) < -limit for off in self.off)


def agreements(evidence: Evidence, clocks: Mapping[ArmKey, ClockSpread]) -> Iterator[Agreement]:
    """Yield every arm of every stopwatch record; ``clocks``: of the benchmarks' turns."""
    for (target, comparison), record in evidence.stopwatches.items():
        benchmark = evidence.benchmarks.get((target, comparison))
        for arm in record.arms:
            profile = evidence.profiles.get((target, comparison, arm.arm))
            clock = clocks.get((target, comparison, arm.arm))
            judged_ms = stats.median_ms(benchmark, arm.arm) if benchmark else None
            # What follows an error's first line is advice to whoever debugs; the record has it.
            why = f" ({arm.detail.splitlines()[0]})" if arm.detail else ""
            yield Agreement(
                target,
                comparison,
                arm.arm,
                judged=StopwatchReading(judged_ms, clock.median_mhz if clock else None),
                nvbench=StopwatchReading(arm.nvbench_cold_ms, arm.nvbench_clock_mhz),
                nsight=StopwatchReading(launch_ms(profile), launch_clock_mhz(profile))
                if profile
                else StopwatchReading(),
                missing="" if arm.nvbench_cold_ms is not None else f"{fmt.words(arm.status)}{why}",
            )


def agreement_section(
    catalog: Catalog, evidence: Evidence, found: Sequence[Agreement]
) -> fmt.Row | None:
    """Return the table of stopwatches; None where no other stopwatch was asked."""
    if not found:
        return None
    limit = catalog.judging.stopwatch_agreement
    of_turns = any(record.clock_of == "turn" for record in evidence.benchmarks.values())
    compared = [one for one in found if one.off]
    return {
        "limit": fmt.declared_percent(limit),
        "arms": len(compared),
        "in_time": sum(one.in_time(limit) for one in compared),
        "disagree": sum(one.disagrees(limit) for one in compared),
        "clock_of_turns": of_turns,
        "rows": [
            {
                "of": one,
                "times": [_cells(each, one.judged) for each in (one.nvbench, one.nsight)],
                "judged": _cells(one.judged, one.judged)[:2],
                "disagrees": one.disagrees(limit),
                "link": fmt.link(evidence.place(stopwatch_path(one.target, one.comparison))),
            }
            for one in found
        ],
    }


def _cells(reading: StopwatchReading, judged: StopwatchReading) -> tuple[str, ...]:
    """Return time, clock, and the distance from the judged time in time and in cycles."""
    clock = "" if reading.mhz is None else fmt.unbroken(f"{reading.mhz:.0f} MHz")
    time, cycles = reading.off(judged)
    in_cycles = "" if cycles is None else f"{_deviation(cycles)} in cycles"
    return fmt.quantity(reading.ms, "ms"), clock, _deviation(time), in_cycles


def _deviation(off: float | None) -> str:
    return fmt.NOTHING if off is None else f"{100 * off:+.1f}\N{NO-BREAK SPACE}%"
