"""Whether the gate's record holds every check that the gate makes. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import CORRECTNESS
from assay.records.kernels import Variant
from assay.records.measurements import ArmCorrectness, Check
from assay.records.workload_specs import workload_spec
from assay.shared import attention_call
from assay.shared.gate_shapes import (
    ATTENTION_CHECKS,
    REPEAT_SEED,
    large_shapes,
    small_shapes,
)
from assay.shared.specs import WorkloadSpec
from assay.verification.contradictions import Findings, names
from assay.verification.gate_attention import check_attention

Made = tuple[str, int]
"""(name, seed) of a check."""
WITHOUT_ERROR = ("poisoned", "inputs_unchanged")
"""Checks that compare bytes."""
ANSWERED = ("correct", "incorrect")
"""Statuses of arms that ran at every shape; another kernel was asked for none of the others."""


def check_gates(catalog: Catalog, evidence: Evidence) -> Findings:
    """Return arms that count as correct without a check that the gate makes, or with others."""
    findings, untold = Findings(), set[str]()
    telling = {target for target in evidence.platforms if _tells_refused(evidence, target)}
    for (target, name), record in evidence.correctness.items():
        path = CORRECTNESS.path(target, name)
        planned = {arm.id for arm in catalog.comparisons[name].arms}
        given = [arm.arm for arm in record.arms]
        if sorted(given) != sorted(planned):
            findings.refuse("gate-arms", f"{path}: it is not about each arm of {name} once")
        for arm in record.arms:
            if arm.refused is None and arm.status in ANSWERED and target in telling:
                says = f"{path}: arm {arm.arm} does not say which shapes it refuses, as others do"
                findings.refuse("gate-checks", says)
            _check_status(evidence, target, name, arm, path, findings)
            known = arm.variant in catalog.variants and arm.workload in catalog.workloads
            if arm.status == "correct" and known:  # other arms are found as unplanned
                untold |= _check_arm(catalog, arm, path, findings)
    if untold:
        # Why is only told in words there, which anybody may write.
        findings.leave(f"that kernels refuse shapes that are not theirs: {names(untold)}")
    return findings


def _tells_refused(evidence: Evidence, target: str) -> bool:
    """Return whether a target's records are of versions that say which shapes a kernel refuses:
    some do, or have what came later.
    """
    gates = [gate for (of, _), gate in evidence.correctness.items() if of == target]
    timed = [record for (of, _), record in evidence.benchmarks.items() if of == target]
    return any(arm.refused is not None for gate in gates for arm in gate.arms) or any(
        facts.input_bytes is not None
        for record in timed
        for process in record.processes
        for facts in process.arms
    )


def _check_arm(catalog: Catalog, arm: ArmCorrectness, path: str, findings: Findings) -> set[str]:
    """Return the kernel, where a record of before lacks a shape and need not say that it may."""
    made = {(check.name, check.seed) for check in arm.checks}
    variant = catalog.variants[arm.variant]
    spec = workload_spec(catalog.workloads[arm.workload])
    shapes = _shapes(variant, spec)
    refused = set(arm.refused or ())
    seeds = catalog.judging.correctness_seeds
    needed = set(_needed(variant, seeds, [name for name in shapes if name not in refused]))
    known = {name for name, _ in needed} | {"poisoned"}
    if invented := refused - set(shapes):
        findings.refuse("gate-checks", f"{path}: the gate has no shape {names(invented)}")
    untold = set(shapes) - {name for name, _ in made} if arm.refused is None else set[str]()
    needed = {(name, seed) for name, seed in needed if name not in untold}
    if missing := {name for name, _ in needed - made}:
        says = f"{path}: arm {arm.arm} counts as correct without {names(missing)}"
        findings.refuse("gate-checks", says)
    if unknown := {check.name for check in arm.checks} - known:
        findings.refuse("gate-checks", f"{path}: the gate has no check {names(unknown)}")
    _check_beside(variant, arm, shapes, path, findings)
    if variant.abi == attention_call.ABI:
        check_attention(arm, path, findings)
    beyond = {c.name for c in arm.checks if not _within(c, shapes.get(c.name, spec))}
    failed = {check.name for check in arm.checks if not check.passed} | beyond
    if failed:
        says = f"{path}: arm {arm.arm} counts as correct but fails {names(failed)}"
        findings.refuse("gate-checks", says)
    return {arm.variant} if untold else set()


def _check_status(
    evidence: Evidence, target: str, name: str, arm: ArmCorrectness, path: str, findings: Findings
) -> None:
    """What is said of an arm as a whole is what its own checks, and its benchmark, say of it."""
    failed = [check.name for check in arm.checks if not check.passed]
    if arm.status == "incorrect" and not failed:
        says = f"{path}: arm {arm.arm} counts as incorrect and fails no check"
        findings.refuse("gate-checks", says)
    if arm.status == "not_installed" and arm.checks:
        says = f"{path}: arm {arm.arm} is said not to be installed and has outputs"
        findings.refuse("gate-checks", says)
    record = evidence.benchmarks.get((target, name))
    if record is None:
        return
    timed = {facts.arm for process in record.processes for facts in process.arms}
    if arm.status != "correct" and arm.arm in timed:
        says = f"{path}: arm {arm.arm} counts as {arm.status}, and was timed all the same"
        findings.refuse("gate-checks", says)
    why = record.not_timed.get(arm.arm, "")
    if arm.status == "correct" and why.startswith(("not_installed", "unsupported")):
        says = f"{path}: arm {arm.arm} counts as correct, and was not timed as {why[:40]}"
        findings.refuse("gate-checks", says)


def _check_beside(
    variant: Variant, arm: ArmCorrectness, shapes: Collection[str], path: str, findings: Findings
) -> None:
    """Each first launch, at whatever shape, has the checks that are made beside its output's."""
    told = Counter(check.name for check in arm.checks)
    launches = told["timed_shape"] + sum(told[name] for name in shapes)
    wanted = dict.fromkeys(("inputs_unchanged",), launches)
    if variant.kind == "kernel":
        wanted["poisoned"] = launches
    if variant.abi == attention_call.ABI:  # asked of each launch, the repeated ones too
        wanted |= dict.fromkeys(ATTENTION_CHECKS, launches + told["repeat"])
    for name, count in wanted.items():
        if told[name] != count:
            findings.refuse(
                "gate-checks",
                f"{path}: arm {arm.arm} has {told[name]} checks {name} for {count} launches",
            )


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
    if check.name in ATTENTION_CHECKS:  # by a limit of the launch's own; what is not finite is none
        return check.max_abs_error is not None and check.max_abs_error >= 0
    if check.name in WITHOUT_ERROR:
        return True
    relative, most = check.relative_error, check.max_abs_error
    if relative is None or most is None:  # what is not finite is recorded so
        return False
    limit = workload.max_abs_tolerance
    return 0 <= relative <= workload.relative_tolerance and (limit is None or most <= limit)
