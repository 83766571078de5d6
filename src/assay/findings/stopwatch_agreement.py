"""The agreement of three stopwatches on one arm: our events, NVBench, Nsight Compute. Pure.

Disagreement is told, never averaged away, and no time of another stopwatch is ever judged. Where
the SM clocks are known, cycles are held against each other too: they tell a stopwatch that is wrong
from a GPU that ran at another clock.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from assay.evidence.model import Evidence
from assay.evidence.nsight_csv import launch_clock_mhz, launch_ms
from assay.findings.block_quality import ArmKey, ClockSpread
from assay.records.measurements import BenchmarkRecord
from assay.records.profile import ProfileRecord
from assay.records.stopwatch import StopwatchArm
from assay.statistics import summaries as stats


@dataclass(frozen=True)
class StopwatchReading:
    """One stopwatch's reading of an arm; None where it says nothing."""

    ms: float | None
    mhz: float | None = None
    """Mean SM clock of what was timed."""

    @property
    def cycles(self) -> float | None:
        """SM cycles; None where the time or the clock is not known."""
        return None if self.ms is None or self.mhz is None else self.ms * self.mhz * 1e3


@dataclass(frozen=True)
class Off:
    """The distance of a reading from a reference: the ratio less 1; None where one is missing."""

    time: float | None
    cycles: float | None

    def in_time(self, limit: float) -> bool:
        """Return whether the times differ by more than ``limit``."""
        return _far(self.time, limit)

    def in_cycles(self, limit: float) -> bool:
        """Return whether another clock leaves more than ``limit`` unexplained.

        So too where the times differ and a clock is not known: nothing explains that.
        """
        return self.in_time(limit) if self.cycles is None else _far(self.cycles, limit)


@dataclass(frozen=True)
class Deviations:
    """The distances of NVBench and Nsight Compute from one reference."""

    nvbench: Off
    nsight: Off

    @property
    def compared(self) -> bool:
        """Return whether there is anything to hold against the reference."""
        return any(off.time is not None for off in (self.nvbench, self.nsight))

    def in_time(self, limit: float) -> bool:
        """Return whether one of them differs in time by more than ``limit``, a fraction."""
        return self.nvbench.in_time(limit) or self.nsight.in_time(limit)

    def in_cycles(self, limit: float) -> bool:
        """Return whether one of them differs in cycles too, or may."""
        return self.nvbench.in_cycles(limit) or self.nsight.in_cycles(limit)

    def by_clock(self, limit: float) -> bool:
        """Return whether they differ in time and agree in cycles: the clock was another."""
        return self.in_time(limit) and not self.in_cycles(limit)


@dataclass(frozen=True)
class Agreement:
    """One arm by every stopwatch."""

    target: str
    comparison: str
    arm: str
    judged: StopwatchReading
    """Medians of the benchmark's samples and turns: what verdicts rest on."""
    events: StopwatchReading
    """Our event times in NVBench's process, seconds before it."""
    nvbench: StopwatchReading
    nvbench_status: str
    """collected, or why not."""
    detail: str
    nsight: StopwatchReading
    """Of all kernels of a launch together, at whatever clock one lone launch runs."""

    @property
    def from_judged(self) -> Deviations:
        """Return how the others stand to what verdicts rest on."""
        return Deviations(_off(self.nvbench, self.judged), _off(self.nsight, self.judged))

    @property
    def from_events(self) -> Deviations:
        """Return how the others stand to our events in NVBench's process, seconds before it."""
        return Deviations(_off(self.nvbench, self.events), _off(self.nsight, self.events))


@dataclass(frozen=True)
class Coverage:
    """The share of the timed arms that have a second stopwatch, and those without."""

    timed: int
    held: int
    """Those of them whose judged time is held against another stopwatch's."""
    without: tuple[tuple[str, str], ...]
    """(target, comparison) of which no arm has one."""


def _far(off: float | None, limit: float) -> bool:
    return off is not None and abs(off) > limit


def _off(reading: StopwatchReading, reference: StopwatchReading) -> Off:
    return Off(_ratio(reading.ms, reference.ms), _ratio(reading.cycles, reference.cycles))


def _ratio(value: float | None, reference: float | None) -> float | None:
    return value / reference - 1 if value is not None and reference else None


def agreements(evidence: Evidence, clocks: Mapping[ArmKey, ClockSpread]) -> Iterator[Agreement]:
    """Yield every arm of every stopwatch record, in the order of the evidence.

    ``clocks`` are those of the benchmarks' turns.
    """
    for (target, comparison), record in evidence.stopwatches.items():
        benchmark = evidence.benchmarks.get((target, comparison))
        for arm in record.arms:
            profile = evidence.profiles.get((target, comparison, arm.arm))
            clock = clocks.get((target, comparison, arm.arm))
            yield _agreement(target, comparison, arm, benchmark, clock, profile)


def coverage(evidence: Evidence, found: Iterable[Agreement]) -> Coverage:
    """Return how many of the timed arms ``found`` holds against another stopwatch."""
    held = {(one.target, one.comparison, one.arm) for one in found if one.from_judged.compared}
    timed = {
        (target, comparison, facts.arm)
        for (target, comparison), record in evidence.benchmarks.items()
        for process in record.processes
        for facts in process.arms
    }
    covered = {(target, comparison) for target, comparison, _ in held}
    return Coverage(
        timed=len(timed),
        held=len(held & timed),
        without=tuple(key for key in evidence.benchmarks if key not in covered),
    )


def _agreement(
    target: str,
    comparison: str,
    arm: StopwatchArm,
    benchmark: BenchmarkRecord | None,
    clock: ClockSpread | None,
    profile: ProfileRecord | None,
) -> Agreement:
    return Agreement(
        target=target,
        comparison=comparison,
        arm=arm.arm,
        judged=StopwatchReading(
            stats.median_ms(benchmark, arm.arm) if benchmark else None,
            clock.median_mhz if clock else None,
        ),
        events=StopwatchReading(arm.events_median_ms, arm.events_clock_mhz),
        nvbench=StopwatchReading(arm.nvbench_cold_ms, arm.nvbench_clock_mhz),
        nvbench_status=arm.status,
        detail=arm.detail,
        nsight=StopwatchReading(launch_ms(profile), launch_clock_mhz(profile))
        if profile
        else StopwatchReading(None),
    )
