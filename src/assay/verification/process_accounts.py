"""Whether what a benchmark's processes say of their phases, checks and company can be so. Pure."""

import math
from itertools import pairwise

from assay.catalog.model import Catalog
from assay.records.measurements import BenchmarkRecord, Process
from assay.records.platform import PlatformRecord
from assay.records.workloads import Comparison
from assay.shared.schedule import CONTROL
from assay.verification.contradictions import Findings
from assay.verification.process_turns import ROUNDING_S, turns_of

WALL_S = 2e-3
"""Of the phases of a process by their sum; a hundred turns are rounded."""


def check_accounts(
    catalog: Catalog,
    comparison: Comparison,
    record: BenchmarkRecord,
    platform: PlatformRecord | None,
    path: str,
    findings: Findings,
) -> None:
    """Add what cannot be so of the errors, clocks, phases and company of the processes."""
    for process in record.processes:
        where = f"{path}, process {process.index}"
        _check_errors(catalog, comparison, process, where, findings)
        clocks = [turn.clock_mhz for turn in turns_of(process)]
        if any(before is None and after is not None for before, after in pairwise(clocks)):
            # A counter that fails is given up, and comes not back.
            findings.refuse("clock", f"{where}: the clock of some turns is left out")
        _check_wall(process, where, findings)
    _check_company(record, platform, path, findings)


def _check_errors(
    catalog: Catalog, comparison: Comparison, process: Process, where: str, findings: Findings
) -> None:
    """A turn has an error if it was checked, and one that its problem tolerates: any other arm is
    not timed.
    """
    workloads = {arm.id: arm.workload for arm in comparison.arms}
    workloads[CONTROL] = workloads.get(comparison.control, "")
    for turn in turns_of(process):
        workload = catalog.workloads.get(workloads.get(turn.arm, ""))
        if workload is None:
            continue  # an arm that is none is found as such
        error = turn.relative_error
        fits = 0 <= error <= workload.relative_tolerance if error is not None else False
        if fits != turn.checked or (error is not None and not turn.checked):
            says = f"{where}: a turn of {turn.arm} has an error of {error}, "
            findings.refuse("turn-errors", says + ("checked" if turn.checked else "unchecked"))
            return


def _check_wall(process: Process, where: str, findings: Findings) -> None:
    """The phases of a process sum up to its time, and hold its launches."""
    if process.wall is None:
        findings.leave("how long the phases of processes took, which is not recorded")
        return
    phases = process.wall.model_dump()
    turns = math.fsum(turn.ended_s - turn.started_s for turn in turns_of(process))
    warm = math.fsum(facts.warmup_ms for facts in process.arms) / 1e3
    if (
        min(phases.values()) < -ROUNDING_S
        or abs(math.fsum(phases.values()) - process.seconds) > WALL_S
        or phases["turns"] < turns - WALL_S
        or phases["warm_up"] < warm - WALL_S
    ):
        findings.refuse("wall", f"{where}: its phases do not sum up, or hold less than its turns")


def _check_company(
    record: BenchmarkRecord, platform: PlatformRecord | None, path: str, findings: Findings
) -> None:
    """Who measures beside others says so, and a GPU's memory holds what is in use."""
    told = record.exclusivity
    if (record.import_seconds or 0) < 0:
        findings.refuse("wall", f"{path}: its imports took less than no time")
    if told is None:
        findings.leave("that nobody else used the GPU when benchmarks began: it is not recorded")
        return
    memory = platform.device.gpu.memory_bytes if platform else math.inf
    if told.waited_s < 0 or not 0 <= (told.memory_in_use_bytes or 0) <= memory:
        findings.refuse("company", f"{path}: it waited, or found memory in use, beyond all bounds")
    if (told.other_processes or 0) != 0 and not told.remark:
        says = f"{path}: {told.other_processes} processes were on the GPU, and nothing says why"
        findings.refuse("company", says)
