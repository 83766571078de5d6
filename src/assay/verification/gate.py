"""Whether every timed arm passed each check of the correctness gate. Pure."""

from collections.abc import Iterator

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import BENCHMARKS, CORRECTNESS
from assay.records.kernels import Variant
from assay.records.measurements import ArmCorrectness, Check
from assay.records.workload_specs import workload_spec
from assay.shared import attention_call
from assay.shared.gate_shapes import ATTENTION_CHECKS, REPEAT_SEED, large_shapes, small_shapes
from assay.shared.specs import WorkloadSpec
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
