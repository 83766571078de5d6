"""Whether times hold against what else was recorded of the same launches. Pure.

A process records its turns' beginnings and ends, its telemetry, and the sum of all launches; other
stopwatches timed the same binaries apart; no launch is faster than the target's roofline.
"""

import math
import statistics
from collections.abc import Iterator
from itertools import pairwise

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.nsight_csv import DURATION, MS, NS_IN_MS, duration_ns
from assay.evidence.stages import BENCHMARKS, PROFILES, STOPWATCHES
from assay.measuring.told import protocol_spec
from assay.records.measurements import ArmFacts, BenchmarkRecord, Block, Process, Telemetry
from assay.records.platform import PlatformRecord
from assay.records.profile import ProfileRecord
from assay.records.workloads import Protocol
from assay.shared.clock_events import SHARED_GPU, VOIDING_REASONS
from assay.shared.limits import settling_launches
from assay.shared.schedule import CONTROL
from assay.statistics import roofline
from assay.verification.contradictions import Findings

ROUNDING_S = 3e-4
"""Of recorded times of turns and telemetry, sums of two."""
GPU_SHARE, GPU_S = 0.002, 1e-3
"""Of the sum of all launches, which is recorded unrounded: samples are rounded."""
SETTLING = 1.3
"""How far launches that settle may be off those that are timed after them."""
STOPWATCHES_APART = 2.0
"""Stopwatches differ by up to a fifth on record, for they see other clocks; no card has clocks
under load that lie further apart than this factor."""
CLOCK_SLACK = 1.1
"""How far cycles over time may lie above the highest clock: by 5 % on record, in short turns."""


def check_times(catalog: Catalog, evidence: Evidence) -> Findings:
    """Return samples that other records of the same launches contradict."""
    findings = Findings()
    seen: dict[tuple[float, ...], str] = {}
    for (target, name), record in evidence.benchmarks.items():
        path = BENCHMARKS.path(target, name)
        protocol = catalog.protocols[catalog.comparisons[name].protocol]
        control = catalog.comparisons[name].control
        for process in record.processes:
            where = f"{path}, process {process.index}"
            if any(ms <= 0 for facts in process.arms for ms in _samples(process, facts.arm)):
                findings.refuse("below-floor", f"{where}: a launch took no time at all")
                return findings
            _check_clocks(process, evidence.platforms.get(target), where, findings)
            _check_repeated(process, where, seen, findings)
            _check_spans(process, control, where, findings)
            _check_sum(record, process, protocol, control, where, findings)
            _check_voids(process, protocol, where, findings)
        if record.seconds + ROUNDING_S < math.fsum(p.seconds for p in record.processes):
            findings.refuse("windows", f"{path} took less time than its processes")
        _check_floor(catalog, target, record, protocol, path, findings)
        _check_stopwatches(evidence, target, name, record, findings)
    return findings


def _launches(process: Process, control: str) -> dict[str, int]:
    """Return how many launches a sample of each arm stands for."""
    found = {facts.arm: facts.launches_per_sample for facts in process.arms}
    return found | {CONTROL: found.get(control, 1)}


def _samples(process: Process, arm: str) -> list[float]:
    turns = (turn for block in process.blocks for turn in block.turns if turn.arm == arm)
    return [ms for turn in turns for ms in turn.times_ms]


def _check_repeated(
    process: Process, where: str, seen: dict[tuple[float, ...], str], findings: Findings
) -> None:
    """No two processes have the same telemetry, or the same samples of an arm in any order."""
    telemetry = process.telemetry
    keys = [(*telemetry.at_s, *telemetry.power_w)]
    keys += [tuple(sorted(_samples(process, facts.arm))) for facts in process.arms]
    twins = {seen.setdefault(key, where) for key in keys if len(set(key)) > 2} - {where}
    if twins:
        findings.refuse("repeated", f"{where} has the samples of {sorted(twins)[0]}")


def _check_spans(process: Process, control: str, where: str, findings: Findings) -> None:
    """Turns follow each other inside the process's telemetry, and hold their launches."""
    lengths = {len(column) for _, column in process.telemetry}
    at = process.telemetry.at_s
    if len(lengths) != 1 or not at or any(b < a for a, b in pairwise(at)):
        findings.refuse("telemetry", f"{where}: its telemetry is no series")
        return
    launches, last = _launches(process, control), 0.0
    for turn in (turn for block in process.blocks for turn in block.turns):
        busy = math.fsum(turn.times_ms) * launches.get(turn.arm, 1) / 1e3
        if turn.started_s < last - ROUNDING_S or turn.ended_s > at[-1] + ROUNDING_S:
            findings.refuse("windows", f"{where}: a turn of {turn.arm} lies outside its time")
            return
        if busy > turn.ended_s - turn.started_s + 2 * ROUNDING_S:
            findings.refuse("windows", f"{where}: a turn of {turn.arm} is shorter than its samples")
            return
        last = turn.ended_s
    if last > process.seconds + ROUNDING_S or process.gpu_seconds > process.seconds:
        findings.refuse("windows", f"{where}: it took less time than its launches")


def _check_clocks(
    process: Process, platform: PlatformRecord | None, where: str, findings: Findings
) -> None:
    """No clock is above the highest that the GPU has."""
    most = platform.device.gpu.clock_sm_max_mhz if platform else None
    if not most:
        findings.leave("that no clock is above the GPU's highest, which is not recorded")
    seen = [turn.clock_mhz or 0.0 for block in process.blocks for turn in block.turns]
    if most and max(seen, default=0.0) > CLOCK_SLACK * most:
        findings.refuse("clock", f"{where}: a turn ran at {max(seen):.0f} MHz, the GPU at {most}")
    if most and max(process.telemetry.clock_sm_mhz, default=0) > most:
        findings.refuse("clock", f"{where}: its telemetry has a clock above the GPU's {most} MHz")


def _check_sum(
    record: BenchmarkRecord,
    process: Process,
    protocol: Protocol,
    control: str,
    where: str,
    findings: Findings,
) -> None:
    """The sum of all launches is that of the timed, the warming and the settling ones."""
    launches = _launches(process, control)
    turns = [turn for block in process.blocks for turn in block.turns]
    timed = math.fsum(math.fsum(t.times_ms) * launches.get(t.arm, 1) for t in turns) / 1e3
    warm = math.fsum(facts.warmup_ms for facts in process.arms) / 1e3
    spec = protocol_spec(protocol)
    settled = 0.0
    for facts in process.arms:
        names = {facts.arm, *([CONTROL] if facts.arm == control else [])}
        of_arm = [ms for t in turns if t.arm in names for ms in t.times_ms]
        if of_arm:
            ms = statistics.median(of_arm) * facts.launches_per_sample
            count = sum(turn.arm in names for turn in turns)
            settled += settling_launches(spec, ms) * ms * count / 1e3
    slack = GPU_S + GPU_SHARE * process.gpu_seconds
    least = timed + warm + settled / SETTLING - slack
    most = math.inf if record.not_timed else timed + warm + settled * SETTLING + slack
    if not least <= process.gpu_seconds <= most:
        says = (
            f"{where}: its launches took {process.gpu_seconds:.3f} s, and its samples, warming up "
            f"and settling come to {timed + warm + settled:.3f} s"
        )
        findings.refuse("gpu-seconds", says)


def _check_voids(process: Process, protocol: Protocol, where: str, findings: Findings) -> None:
    """A block is void for the clock events that telemetry saw, and no other is."""
    interval = protocol.telemetry_interval_ms / 1e3
    for number, block in enumerate(process.blocks):
        reasons = (block.void or "").split(", ") if block.void else []
        if SHARED_GPU in reasons:
            findings.leave("that somebody else used the GPU where blocks are void for it")
        given = [reason for reason in reasons if reason != SHARED_GPU]
        slacks = (interval - ROUNDING_S, interval, interval + ROUNDING_S)
        if given not in [_events(process.telemetry, block, slack) for slack in slacks]:
            says = f"{where}, block {number}: " + (
                f"void for '{block.void}', which its telemetry does not show"
                if given
                else "it counts, though its telemetry shows what voids it"
            )
            findings.refuse("void", says)


def _events(telemetry: Telemetry, block: Block, slack: float) -> list[str]:
    started = min((turn.started_s for turn in block.turns), default=0.0)
    ended = max((turn.ended_s for turn in block.turns), default=0.0)
    seen = 0
    for at, reasons in zip(telemetry.at_s, telemetry.event_reasons, strict=False):
        if started - slack <= at <= ended + slack:
            seen |= reasons
    return [name for bit, name in VOIDING_REASONS.items() if seen & bit]


def _arms(record: BenchmarkRecord) -> Iterator[tuple[ArmFacts, float]]:
    """Yield each arm's facts with the median of all its samples, in ms."""
    for facts in record.processes[0].arms if record.processes else ():
        of_arm = [ms for process in record.processes for ms in _samples(process, facts.arm)]
        if of_arm:
            yield facts, statistics.median(of_arm)


def _check_floor(
    catalog: Catalog,
    target: str,
    record: BenchmarkRecord,
    protocol: Protocol,
    path: str,
    findings: Findings,
) -> None:
    for facts, median in _arms(record):
        workload = catalog.workloads.get(facts.workload)
        if workload is None:
            continue  # another problem than the planned one is found as such
        floor = roofline.floor_ms(facts, workload.dtype, catalog.targets[target], protocol.l2)
        if median < floor:
            says = f"{path}: {facts.arm} takes {median:.4g} ms, below the roofline's {floor:.4g} ms"
            findings.refuse("below-floor", says)


def _check_stopwatches(
    evidence: Evidence, target: str, name: str, record: BenchmarkRecord, findings: Findings
) -> None:
    """What other stopwatches saw of the profiled arms is near what was timed."""
    beside = evidence.stopwatches.get((target, name))
    for facts, median in _arms(record):
        seen = []
        for arm in beside.arms if beside else ():
            if arm.arm == facts.arm:
                path = STOPWATCHES.path(target, name)
                seen += [(path, ms) for ms in (arm.events_median_ms, arm.nvbench_cold_ms) if ms]
        profile = evidence.profiles.get((target, name, facts.arm))
        nsight = _nsight_ms(profile) if profile else None
        if nsight is not None:
            seen.append((PROFILES.path(target, name, facts.arm), nsight))
        elif profile and profile.status == "collected":
            findings.leave("how long Nsight Compute saw arms run, whose times it did not record")
        for path, ms in seen:
            if not 1 / STOPWATCHES_APART <= ms / median <= STOPWATCHES_APART:
                says = f"{target}: {facts.arm} of {name} took {median:.4g} ms, by {path} {ms:.4g}"
                findings.refuse("stopwatch", says)
                break


def _nsight_ms(profile: ProfileRecord) -> float | None:
    """Return how long Nsight Compute saw a launch run: all its kernels, where the page is held, and
    else the one that was longest. None where it recorded no time.
    """
    whole = duration_ns(profile.raw_page) if profile.raw_page else None
    if whole is not None:
        return whole / NS_IN_MS
    factor = MS.get(profile.units.get(DURATION, ""))
    told = profile.metrics.get(DURATION)
    return told * factor if factor and told is not None else None
