"""Whether measurements are as their protocol asks for, and no time is impossible. Pure.

Times are the signer's word (docs/trust.md). What is held against them here is what an honest run
could get wrong: another protocol, a process too few, a wrong output, a time below what the
hardware allows.
"""

import statistics

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import BENCHMARKS, ORIGINALS, PROGRAMS
from assay.records.measurements import BenchmarkRecord, Process
from assay.records.workloads import Comparison
from assay.shared.schedule import CONTROL
from assay.statistics import roofline
from assay.verification.contradictions import Findings


def check_measured(catalog: Catalog, evidence: Evidence) -> Findings:
    """Return what contradicts a benchmark's protocol, outputs or physical floor."""
    findings = Findings()
    for (target, name), record in evidence.benchmarks.items():
        comparison = catalog.comparisons[name]
        path = BENCHMARKS.path(target, name)
        if record.protocol != comparison.protocol:
            says = f"{path} was measured by protocol {record.protocol}, not {comparison.protocol}"
            findings.refuse("protocol", says)
            continue
        _check_protocol(catalog, comparison, record, path, findings)
        for process in record.processes:
            where = f"{path}, process {process.index}"
            _check_outputs(catalog, comparison, process, where, findings)
        _check_floor(catalog, target, record, path, findings)
    _check_runs(catalog, evidence, findings)
    return findings


def _check_runs(catalog: Catalog, evidence: Evidence, findings: Findings) -> None:
    """Each program ran as often as it was to; a source's own may not have been built."""
    wanted = catalog.judging.program_runs
    counts = [(PROGRAMS.path(*key), len(each.runs)) for key, each in evidence.programs.items()]
    for key, original in evidence.originals.items():
        lines = filter(None, (original.runs, original.typed_runs))
        counts += [(ORIGINALS.path(*key), len(runs)) for runs in lines]
    for path, count in counts:
        if count != wanted:
            says = f"{path} has {count} runs, and its program was to run {wanted} times"
            findings.refuse("program-runs", says)


def _check_protocol(
    catalog: Catalog, comparison: Comparison, record: BenchmarkRecord, path: str, findings: Findings
) -> None:
    """There are as many processes and blocks as planned, each of the comparison's arms."""
    protocol = catalog.protocols[comparison.protocol]
    arms = {arm.id for arm in comparison.arms}
    indices = [process.index for process in record.processes]
    nothing_to_time = not indices and arms == set(record.not_timed)
    if indices != list(range(protocol.processes)) and not nothing_to_time:
        says = f"{path} has {len(indices)} processes, and its protocol {protocol.processes}"
        findings.refuse("processes", says)
    for process in record.processes:
        where = f"{path}, process {process.index}"
        timed = {facts.arm for facts in process.arms}
        if timed | set(record.not_timed) != arms or timed & set(record.not_timed):
            findings.refuse("arms", f"{where}: its arms are not those of {comparison.id}")
        if len(process.blocks) != protocol.blocks:
            says = f"{where} has {len(process.blocks)} blocks, and its protocol {protocol.blocks}"
            findings.refuse("blocks", says)
        if process.timer != protocol.timer and not record.remarks:
            says = f"{where} was timed by {process.timer}, and nothing says why"
            findings.refuse("protocol", says)


def _check_outputs(
    catalog: Catalog, comparison: Comparison, process: Process, where: str, findings: Findings
) -> None:
    """Every turn whose output was checked has an error that its problem tolerates."""
    workloads = {arm.id: arm.workload for arm in comparison.arms}
    workloads[CONTROL] = workloads.get(comparison.control, "")
    for turn in (turn for block in process.blocks for turn in block.turns):
        workload = catalog.workloads.get(workloads.get(turn.arm, ""))
        if workload is None:
            continue  # an arm that is none is found as such
        error = turn.relative_error
        fits = error is not None and 0 <= error <= workload.relative_tolerance
        if turn.checked and not fits:
            says = f"{where}: a timed output of {turn.arm} is off by {error}"
            findings.refuse("turn-errors", says)
            return


def _check_floor(
    catalog: Catalog, target: str, record: BenchmarkRecord, path: str, findings: Findings
) -> None:
    """No arm's median is below the roofline of its workload (bytes and FLOP over the peaks)."""
    l2 = catalog.protocols[record.protocol].l2
    for facts in record.processes[0].arms if record.processes else ():
        samples = [
            ms
            for process in record.processes
            for block in process.blocks
            for turn in block.turns
            if turn.arm == facts.arm
            for ms in turn.times_ms
        ]
        workload = catalog.workloads.get(facts.workload)
        if workload is None or not samples:
            continue
        floor = roofline.floor_ms(facts, workload.dtype, catalog.targets[target], l2)
        if (median := statistics.median(samples)) < floor or min(samples) <= 0:
            says = f"{path}: {facts.arm} takes {median:.4g} ms, below the roofline's {floor:.4g} ms"
            findings.refuse("below-floor", says)
