"""Whether three stopwatches agree on one arm: this project's events, NVBench, Nsight Compute. Pure.

Disagreement is told, never averaged away, and no time of another stopwatch is ever judged. Where
the SM clocks are known, cycles are held against each other too: they tell a stopwatch that is wrong
from a GPU that ran at another clock.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from assay import stats
from assay.conduct import conduct_of
from assay.evidence import Evidence
from assay.records.measurements import BenchmarkRecord, ProfileRecord, StopwatchArm

DURATION = "gpu__time_duration.sum"
CLOCK = "gpc__cycles_elapsed.avg.per_second"
HZ = ("hz", "cycle/second")
"""Names of the unit that Nsight Compute gives a clock in, asked for base units."""
TO_MS = {"ns": 1e-6, "nsecond": 1e-6, "us": 1e-3, "usecond": 1e-3, "ms": 1.0, "msecond": 1.0}
"""Milliseconds of each unit that Nsight Compute has given a duration in."""


@dataclass(frozen=True)
class Agreement:
    """One arm by every stopwatch, in ms; None where one has no time."""

    target: str
    comparison: str
    arm: str
    judged_ms: float | None
    """Median of the benchmark's samples: what verdicts rest on."""
    judged_clock_mhz: float | None
    events_ms: float | None
    """Our event times in NVBench's process: the same state of the GPU, seconds before."""
    events_clock_mhz: float | None
    nvbench_ms: float | None
    nvbench_clock_mhz: float | None
    nvbench_status: str
    """collected, or why not."""
    detail: str
    nsight_ms: float | None
    """Of the longest kernel of a launch, at whatever clock one lone launch runs."""
    nsight_clock_mhz: float | None

    @property
    def reference_ms(self) -> float | None:
        """What the others are held against: our time beside NVBench's, else the judged one."""
        return self.events_ms if self.events_ms is not None else self.judged_ms

    @property
    def reference_clock_mhz(self) -> float | None:
        """SM clock of the reference."""
        return self.judged_clock_mhz if self.events_ms is None else self.events_clock_mhz

    @property
    def nvbench_off(self) -> float | None:
        """NVBench over ours, less 1."""
        return _off(self.nvbench_ms, self.reference_ms)

    @property
    def nsight_off(self) -> float | None:
        """Nsight Compute over ours, less 1."""
        return _off(self.nsight_ms, self.reference_ms)

    @property
    def nvbench_cycles_off(self) -> float | None:
        """The same in SM cycles; None where a clock is not known."""
        return self._cycles_off(self.nvbench_ms, self.nvbench_clock_mhz)

    @property
    def nsight_cycles_off(self) -> float | None:
        """The same in SM cycles; None where a clock is not known."""
        return self._cycles_off(self.nsight_ms, self.nsight_clock_mhz)

    def beyond(self, limit: float) -> bool:
        """Whether one of them is further off than ``limit``, a fraction."""
        return any(_far(off, limit) for off in (self.nvbench_off, self.nsight_off))

    def by_clock(self, limit: float) -> bool:
        """Whether all that are further off in time agree in cycles: the clock was another."""
        pairs = (
            (self.nvbench_off, self.nvbench_cycles_off),
            (self.nsight_off, self.nsight_cycles_off),
        )
        return self.beyond(limit) and all(
            cycles is not None and not _far(cycles, limit)
            for time, cycles in pairs
            if _far(time, limit)
        )

    def _cycles_off(self, ms: float | None, mhz: float | None) -> float | None:
        return _off(_cycles(ms, mhz), _cycles(self.reference_ms, self.reference_clock_mhz))


def _far(off: float | None, limit: float) -> bool:
    return off is not None and abs(off) > limit


def _cycles(ms: float | None, mhz: float | None) -> float | None:
    return None if ms is None or mhz is None else ms * mhz * 1e3


def _off(value: float | None, reference: float | None) -> float | None:
    return value / reference - 1 if value is not None and reference else None


def agreements(evidence: Evidence) -> Iterator[Agreement]:
    """Every arm of every stopwatch record, in the order of the evidence."""
    for (target, comparison), record in evidence.stopwatches.items():
        benchmark = evidence.benchmarks.get((target, comparison))
        for arm in record.arms:
            profile = evidence.profiles.get((target, comparison, arm.arm))
            yield _agreement(target, comparison, arm, benchmark, profile)


def _agreement(
    target: str,
    comparison: str,
    arm: StopwatchArm,
    benchmark: BenchmarkRecord | None,
    profile: ProfileRecord | None,
) -> Agreement:
    clock = conduct_of(benchmark).clocks.get(arm.arm) if benchmark else None
    return Agreement(
        target=target,
        comparison=comparison,
        arm=arm.arm,
        judged_ms=stats.median_ms(benchmark, arm.arm) if benchmark else None,
        judged_clock_mhz=clock.median_mhz if clock else None,
        events_ms=arm.events_median_ms,
        events_clock_mhz=arm.events_clock_mhz,
        nvbench_ms=arm.nvbench_cold_ms,
        nvbench_clock_mhz=arm.nvbench_clock_mhz,
        nvbench_status=arm.status,
        detail=arm.detail,
        nsight_ms=nsight_ms(profile) if profile else None,
        nsight_clock_mhz=nsight_clock_mhz(profile) if profile else None,
    )


def nsight_ms(profile: ProfileRecord) -> float | None:
    """Nsight Compute's duration in ms; None where it has none, or in a unit not known here."""
    factor = TO_MS.get(profile.units.get(DURATION, ""))
    value = profile.metrics.get(DURATION)
    return value * factor if value is not None and factor is not None else None


def nsight_clock_mhz(profile: ProfileRecord) -> float | None:
    """SM clock in MHz while Nsight Compute counted; None where it has none, or not in Hz."""
    value = profile.metrics.get(CLOCK)
    return value / 1e6 if value is not None and profile.units.get(CLOCK) in HZ else None
