"""Whether timed arms passed the correctness gate, and were measured as planned. Pure.

Times are the signer's word (docs/trust.md). What is held against them here is what an honest run
could get wrong: another protocol, a process too few, a wrong output, a time below what the
hardware allows.
"""

import statistics
from collections.abc import Iterator

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import BENCHMARKS, CORRECTNESS, ORIGINALS, PROGRAMS
from assay.records.kernels import Variant
from assay.records.measurements import ArmCorrectness, BenchmarkRecord, Check, Process
from assay.records.workload_specs import workload_spec
from assay.records.workloads import Comparison
from assay.shared import attention_call
from assay.shared.gate_shapes import ATTENTION_CHECKS, REPEAT_SEED, large_shapes, small_shapes
from assay.shared.schedule import CONTROL
from assay.shared.specs import WorkloadSpec
from assay.statistics import roofline
from assay.verification.contradictions import Findings, names

Made = tuple[str, int]
"""(name, seed) of a check."""
WITHOUT_ERROR = ("poisoned", "inputs_unchanged")
"""Checks that compare bytes."""


def check_gates(catalog: Catalog, evidence: Evidence) -> Findings:
    """Return arms that were timed, or count as correct, without having passed every check."""
    findings = Findings()
    for key, benchmark in evidence.benchmarks.items():
        gate = evidence.correctness.get(key)
        correct = {arm.arm for arm in gate.arms if arm.status == "correct"} if gate else set()
        timed = {facts.arm for process in benchmark.processes for facts in process.arms}
        if wrong := timed - correct:
            says = f"{BENCHMARKS.path(*key)}: timed, and not correct before: {names(wrong)}"
            findings.refuse("gate-checks", says)
    for (target, name), record in evidence.correctness.items():
        path = CORRECTNESS.path(target, name)
        planned = [arm.id for arm in catalog.comparisons[name].arms]
        if sorted(arm.arm for arm in record.arms) != sorted(planned):
            findings.refuse("gate-arms", f"{path}: it is not about each arm of {name} once")
        for arm in record.arms:
            known = arm.variant in catalog.variants and arm.workload in catalog.workloads
            if arm.status == "correct" and known:  # other arms are found as unplanned
                _check_arm(catalog, arm, path, findings)
    return findings


def _check_arm(catalog: Catalog, arm: ArmCorrectness, path: str, findings: Findings) -> None:
    """The arm has each check at each shape that its kernel does not refuse, and passes all."""
    variant = catalog.variants[arm.variant]
    spec = workload_spec(catalog.workloads[arm.workload])
    shapes = _shapes(variant, spec)
    made = {(check.name, check.seed) for check in arm.checks}
    if arm.refused is None:  # of an older version, which tells in words which shapes it refuses
        refused = shapes.keys() - {name for name, _ in made}
        if refused:
            findings.leave(f"that kernels refuse shapes that are not theirs: {arm.variant}")
    else:
        refused = set(arm.refused)
    asked = [name for name in shapes if name not in refused]
    needed = set(_needed(variant, catalog.judging.correctness_seeds, asked))
    if missing := {name for name, _ in needed - made}:
        says = f"{path}: arm {arm.arm} counts as correct without {names(missing)}"
        findings.refuse("gate-checks", says)
    failed = {
        check.name
        for check in arm.checks
        if not check.passed or not _within(check, shapes.get(check.name, spec))
    }
    if failed:
        says = f"{path}: arm {arm.arm} counts as correct but fails {names(failed)}"
        findings.refuse("gate-checks", says)


def _shapes(variant: Variant, spec: WorkloadSpec) -> dict[str, WorkloadSpec]:
    """Return the extra shapes that a kernel is checked at, by name."""
    if variant.kind != "kernel":
        return {}
    return {name: shape for name, shape, _ in small_shapes(spec)} | dict(large_shapes(spec))


def _needed(variant: Variant, seeds: tuple[int, ...], shapes: list[str]) -> Iterator[Made]:
    for seed in seeds:
        yield from (("timed_shape", seed), ("inputs_unchanged", seed))
        yield "repeat", seed + REPEAT_SEED
        if variant.kind == "kernel":
            yield "poisoned", seed
        if variant.abi == attention_call.ABI:
            for name in ATTENTION_CHECKS:
                yield from ((name, seed), (name, seed + REPEAT_SEED))
    yield from ((name, seeds[0]) for name in shapes)


def _within(check: Check, workload: WorkloadSpec) -> bool:
    """Return whether a check has an error, and one that its shape's problem tolerates."""
    relative, most = check.relative_error, check.max_abs_error
    if check.name in ATTENTION_CHECKS:  # by a limit of the launch's own; what is not finite is none
        return most is not None and most >= 0 and (check.limit is None or most <= check.limit)
    if check.name in WITHOUT_ERROR:
        return True
    if relative is None or most is None:  # what is not finite is recorded so
        return False
    limit = workload.max_abs_tolerance
    return 0 <= relative <= workload.relative_tolerance and (limit is None or most <= limit)


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
