"""Whether other stopwatches saw the profiled arms as they were timed. Pure.

They time the same binaries apart, at other clocks. A kernel that computes takes as many cycles at
each clock, one that waits for memory as much time, and any other lies in between: so an arm is not
faster than another stopwatch's in both, nor slower in both.
"""

import statistics
from dataclasses import dataclass

from assay.evidence.model import Evidence
from assay.evidence.nsight_csv import profiled_kernels
from assay.evidence.nsight_launch import launch_clock_mhz, launch_ms
from assay.evidence.stages import PROFILES, STOPWATCHES
from assay.records.measurements import ArmFacts, BenchmarkRecord
from assay.records.profile import ProfileRecord
from assay.records.workloads import Protocol
from assay.verification.contradictions import Findings
from assay.verification.process_turns import samples_of, turns_of

LEAST, MOST = 0.85, 1.25
"""The timed launch by the other stopwatch's: the larger of (time, cycles) and the smaller. On
record, with both clocks, 0.933 at the least, and 1.133 at the most, of a load of 0.2 ms."""
APART = 2.0
"""The same of times alone, where a clock is not known: no card has clocks under load that lie
further apart than this factor. And how much faster a launch of several kernels may be than they are
by Nsight Compute, which empties L2 in front of each: 0.907 on record, of three."""


@dataclass(frozen=True)
class _Seen:
    """An arm, as a stopwatch saw it; the clock as mean over its launches, None where unknown."""

    by: str
    ms: float
    clock_mhz: float | None
    kernels: int = 1
    """That were seen apart."""


def check_stopwatches(
    evidence: Evidence,
    target: str,
    name: str,
    record: BenchmarkRecord,
    protocol: Protocol,
    findings: Findings,
) -> None:
    """Add the profiled arms that other stopwatches saw otherwise than they were timed."""
    for facts in record.processes[0].arms if record.processes else ():
        timed = _timed(record, facts)
        for other in (
            *_beside(evidence, target, name, facts),
            *_nsight(evidence, target, name, facts, findings),
        ):
            if timed is not None and not _alike(timed, other, cold=protocol.l2 == "cold"):
                says = (
                    f"{target}: {facts.arm} of {name} took {_shown(timed)}, by {other.by} "
                    f"{_shown(other)}"
                )
                findings.refuse("stopwatch", says)
                break


def _alike(timed: _Seen, other: _Seen, *, cold: bool) -> bool:
    """Return whether one launch may be what both saw; ``cold``: whether L2 was, as for others."""
    ratio = timed.ms / other.ms
    if timed.clock_mhz is None or other.clock_mhz is None:
        return 1 / APART <= ratio <= APART
    cycles = ratio * timed.clock_mhz / other.clock_mhz
    least = LEAST if cold and other.kernels == 1 else 1 / APART
    return max(ratio, cycles) >= least and min(ratio, cycles) <= MOST


def _shown(seen: _Seen) -> str:
    at = f" at {seen.clock_mhz:.0f} MHz" if seen.clock_mhz else ""
    return f"{seen.ms:.4g} ms{at}"


def _timed(record: BenchmarkRecord, facts: ArmFacts) -> _Seen | None:
    times = [ms for process in record.processes for ms in samples_of(process, facts.arm)]
    clocks = [
        turn.clock_mhz
        for process in record.processes
        for turn in turns_of(process)
        if turn.arm == facts.arm and turn.clock_mhz
    ]
    clock = statistics.median(clocks) if clocks else None
    return _Seen("its samples", statistics.median(times), clock) if times else None


def _beside(evidence: Evidence, target: str, name: str, facts: ArmFacts) -> list[_Seen]:
    """Return what the events and NVBench's saw, which are recorded together."""
    record = evidence.stopwatches.get((target, name))
    path = STOPWATCHES.path(target, name)
    return [
        _Seen(path, ms, clock)
        for arm in (record.arms if record else ())
        if arm.arm == facts.arm
        for ms, clock in (
            (arm.events_median_ms, arm.events_clock_mhz),
            (arm.nvbench_cold_ms, arm.nvbench_clock_mhz),
        )
        if ms
    ]


def _nsight(
    evidence: Evidence, target: str, name: str, facts: ArmFacts, findings: Findings
) -> list[_Seen]:
    """Return what Nsight Compute saw; nothing where it could not."""
    profile = evidence.profiles.get((target, name, facts.arm))
    if profile is None or profile.status != "collected":
        return []
    ms = launch_ms(profile)
    if not ms:
        findings.leave("how long Nsight Compute saw arms run, whose times it did not record")
        return []
    path = PROFILES.path(target, name, facts.arm)
    return [_Seen(path, ms, launch_clock_mhz(profile), _kernels(profile))]


def _kernels(profile: ProfileRecord) -> int:
    """Return how many kernels a launch has, by the page; 1 where none is held, or none readable."""
    try:
        return len(profiled_kernels(profile.raw_page or ""))
    except ValueError:
        return 1
