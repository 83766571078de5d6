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
from assay.evidence.stages import BENCHMARKS
from assay.measuring.told import protocol_spec
from assay.records.measurements import ArmFacts, BenchmarkRecord, Process
from assay.records.platform import PlatformRecord
from assay.records.workloads import Protocol
from assay.shared.limits import settling_launches
from assay.shared.schedule import CONTROL
from assay.statistics import roofline
from assay.verification.block_events import check_blocks
from assay.verification.contradictions import Findings
from assay.verification.other_stopwatches import check_stopwatches
from assay.verification.process_accounts import check_accounts
from assay.verification.process_turns import (
    ROUNDING_S,
    dropped_arms,
    names_of,
    samples_of,
    turns_of,
)
from assay.verification.turn_lengths import check_lengths

GPU_SHARE, GPU_S = 0.002, 1e-3
"""Of the sum of all launches, which is recorded unrounded: samples are rounded."""
SETTLING_LEAST, SETTLING_MOST = 0.88, 1.3
"""What launches that settle take, by what those take that are timed after them: how many there are
was told by warming up, when the GPU was cool and its clock high (more), or waited for a host that
was late (fewer). On record 0.917 to 1.244."""
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
        dropped = dropped_arms(evidence, target, name, record)
        machine = evidence.platforms.get(target)
        platform = machine and (machine.of_card(record.gpu_uuid) or machine)
        for process in record.processes:
            where = f"{path}, process {process.index}"
            if any(ms <= 0 for facts in process.arms for ms in samples_of(process, facts.arm)):
                findings.refuse("below-floor", f"{where}: a launch took no time at all")
                return findings
            _check_clocks(process, platform, where, findings)
            _check_repeated(process, where, seen, findings)
            _check_spans(process, control, where, findings)
            _check_sum(process, protocol, control, where, findings, exact=not dropped)
            check_blocks(process, protocol, where, findings, exact=not dropped)
        check_accounts(catalog, catalog.comparisons[name], record, platform, path, findings)
        if record.seconds + ROUNDING_S < math.fsum(p.seconds for p in record.processes):
            findings.refuse("windows", f"{path} took less time than its processes")
        _check_floor(catalog, target, record, protocol, path, findings)
        check_stopwatches(evidence, target, name, record, protocol, findings)
        check_lengths(
            record, protocol, catalog.targets[target], control, path, findings, exact=not dropped
        )
    return findings


def _launches(process: Process, control: str) -> dict[str, int]:
    """Return how many launches a sample of each arm stands for."""
    found = {facts.arm: facts.launches_per_sample for facts in process.arms}
    return found | {CONTROL: found.get(control, 1)}


def _check_repeated(
    process: Process, where: str, seen: dict[tuple[float, ...], str], findings: Findings
) -> None:
    """No two processes have the same telemetry, or the same samples of an arm in any order."""
    telemetry = process.telemetry
    keys = [(*telemetry.at_s, *telemetry.power_w)]
    keys += [tuple(sorted(samples_of(process, facts.arm))) for facts in process.arms]
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
    for turn in turns_of(process):
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
    seen = [turn.clock_mhz or 0.0 for turn in turns_of(process)]
    if most and max(seen, default=0.0) > CLOCK_SLACK * most:
        findings.refuse("clock", f"{where}: a turn ran at {max(seen):.0f} MHz, the GPU at {most}")
    if most and max(process.telemetry.clock_sm_mhz, default=0) > most:
        findings.refuse("clock", f"{where}: its telemetry has a clock above the GPU's {most} MHz")


def _check_sum(
    process: Process,
    protocol: Protocol,
    control: str,
    where: str,
    findings: Findings,
    *,
    exact: bool,
) -> None:
    """The sum of all launches is that of the timed, the warming and the settling ones.

    ``exact``: no arm was dropped that had launches, too.
    """
    launches = _launches(process, control)
    turns = list(turns_of(process))
    timed = math.fsum(math.fsum(t.times_ms) * launches.get(t.arm, 1) for t in turns) / 1e3
    warm = math.fsum(facts.warmup_ms for facts in process.arms) / 1e3
    spec = protocol_spec(protocol)
    settled = 0.0
    for facts in process.arms:
        names = names_of(facts.arm, control)
        of_arm = [ms for t in turns if t.arm in names for ms in t.times_ms]
        if of_arm:
            ms = statistics.median(of_arm) * facts.launches_per_sample
            count = sum(turn.arm in names for turn in turns)
            settled += settling_launches(spec, ms) * ms * count / 1e3
    slack = GPU_S + GPU_SHARE * process.gpu_seconds
    least = timed + warm + settled * SETTLING_LEAST - slack
    most = timed + warm + settled * SETTLING_MOST + slack if exact else math.inf
    if not least <= process.gpu_seconds <= most:
        says = (
            f"{where}: its launches took {process.gpu_seconds:.3f} s, and its samples, warming up "
            f"and settling come to {timed + warm + settled:.3f} s"
        )
        findings.refuse("gpu-seconds", says)


def _arms(record: BenchmarkRecord) -> Iterator[tuple[ArmFacts, float]]:
    """Yield each arm's facts with the median of all its samples, in ms."""
    for facts in record.processes[0].arms if record.processes else ():
        of_arm = [ms for process in record.processes for ms in samples_of(process, facts.arm)]
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
