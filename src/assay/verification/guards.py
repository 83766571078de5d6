"""Whether records of guards are about all that the plan calls for. Pure.

A guard that could not run says so itself; one that ran on less than it was asked for is found here.
"""

from typing import get_args

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import CHEATS, OPERATORS, SANITIZERS, STOPWATCHES
from assay.records.plan import TargetPlan
from assay.records.sanitizer import Tool
from assay.records.workload_specs import workload_spec
from assay.shared.cheats import CAUGHT_BY
from assay.shared.gate_shapes import REGULAR, sanitized_shapes
from assay.verification.contradictions import Findings, names
from assay.verification.gate import ANSWERED


def check_guards(catalog: Catalog, evidence: Evidence, findings: Findings) -> None:
    """Add the guards that leave out a kernel or an arm that the plan names."""
    for plan in evidence.plan.targets:
        _check_cheats(evidence, plan, findings)
        _check_sanitizer(evidence, plan, findings)
        _check_operators(evidence, plan, findings)
        for name in plan.stopwatches:
            beside = evidence.stopwatches.get((plan.target, name))
            timed = {arm.arm for arm in beside.arms} if beside else set()
            record = evidence.benchmarks.get((plan.target, name))
            refused = set(record.not_timed) if record else set()  # by the gate: nothing is timed
            if beside and (left := set(catalog.comparisons[name].profile) - timed - refused):
                path = STOPWATCHES.path(plan.target, name)
                findings.refuse("guard-incomplete", f"{path} tells nothing of {names(left)}")


def _check_cheats(evidence: Evidence, plan: TargetPlan, findings: Findings) -> None:
    """Each kernel that cheats was tried once, against the check that must catch it."""
    record = evidence.cheats.get(plan.target)
    if record is None or record.status != "collected":
        return
    path, tried = CHEATS.path(plan.target), [(each.name, each.meant) for each in record.cheats]
    left = {name for name, meant in CAUGHT_BY.items() if (name, meant) not in tried}
    if len(set(tried)) < len(tried):
        findings.refuse("guard-incomplete", f"{path} tells of a kernel that cheats twice")
    if left:
        here = plan.provision.kind == "device"
        says = f"{path} tells nothing of {names(left)}" if here else (
            f"cheats of {plan.target}: {names(left)}, which older plans did not try"
        )  # fmt: skip
        findings.refuse_or_leave("guard-incomplete", says, refused=here)


def _check_sanitizer(evidence: Evidence, plan: TargetPlan, findings: Findings) -> None:
    """Each kernel that compiled was run under each tool, and each tool was shown what it must
    catch.
    """
    record = evidence.sanitizers.get(plan.target)
    if record is None or record.status != "collected":
        return
    path, tools = SANITIZERS.path(plan.target), set(get_args(Tool))
    failed = {job for (job, _), build in evidence.builds.items() if build.artifact is None}
    there = set(plan.sanitized) - failed
    asked = {f"{variant} under {tool}" for variant in there for tool in tools}
    left = asked - {f"{run.variant} under {run.tool}" for run in record.runs}
    left |= {f"what {tool} must catch" for tool in tools - {one.tool for one in record.controls}}
    if left:
        findings.refuse("guard-incomplete", f"{path} tells nothing of {names(left)}")


def check_sanitized(catalog: Catalog, evidence: Evidence, findings: Findings) -> Findings:
    """Add kernels that ran under a tool at other small shapes than the gate ran them at."""
    for plan in evidence.plan.targets:
        _check_shapes(catalog, evidence, plan, findings)
    return findings


def _check_shapes(
    catalog: Catalog, evidence: Evidence, plan: TargetPlan, findings: Findings
) -> None:
    record = evidence.sanitizers.get(plan.target)
    arms = [arm for name in plan.comparisons for arm in catalog.comparisons[name].arms]
    for run in record.runs if record else ():
        if run.status not in ("clean", "warnings"):
            continue
        problems = {arm.workload for arm in arms if arm.variant == run.variant}
        if not _is_answered(evidence, plan, run.variant):
            continue  # the gate ran it at no small shape, and it is not timed
        expected = [
            _launched(catalog, evidence, plan, run.variant, problem) for problem in problems
        ]
        if len(set(run.shapes)) < len(run.shapes) or (problems and set(run.shapes) not in expected):
            says = f"{SANITIZERS.path(plan.target)}: {run.variant} under {run.tool} was launched at"
            findings.refuse("guard-incomplete", f"{says} {names(run.shapes)}")


def _is_answered(evidence: Evidence, plan: TargetPlan, variant: str) -> bool:
    """Return whether the gate ran a kernel at every shape, in any comparison."""
    gates = (evidence.correctness.get((plan.target, name)) for name in plan.comparisons)
    arms = (arm for gate in gates if gate is not None for arm in gate.arms)
    return any(arm.variant == variant and arm.status in ANSWERED for arm in arms)


def _launched(
    catalog: Catalog, evidence: Evidence, plan: TargetPlan, variant: str, problem: str
) -> set[str]:
    """Return the shapes of a problem at which the gate ran a kernel, with the regular one where
    compute-sanitizer sees it at that.
    """
    ran = {
        check.name
        for name in plan.comparisons
        if (gate := evidence.correctness.get((plan.target, name))) is not None
        for arm in gate.arms
        if (arm.arm, variant) in {(one.id, one.variant) for one in catalog.comparisons[name].arms}
        for check in arm.checks
    }
    shapes = sanitized_shapes(workload_spec(catalog.workloads[problem]))
    return {name for name, _, _ in shapes if name == REGULAR or name in ran}


def _check_operators(evidence: Evidence, plan: TargetPlan, findings: Findings) -> None:
    """Each kernel behind PyTorch's operators was tried; one that did not compile has no outcome."""
    record = evidence.operators.get(plan.target)
    if record is None or record.status != "collected":
        return
    built = {job for (job, _), build in evidence.builds.items() if build.artifact is not None}
    tried = {each.variant for each in record.operators}
    if left := (set(plan.operators) & built) - tried:
        path = OPERATORS.path(plan.target)
        # Where figures are taken over, kernels may be compiled that were not when they were taken.
        findings.refuse_or_leave(
            "guard-incomplete",
            f"{path} tells nothing of {names(left)}"
            if plan.provision.kind == "device"
            else f"operators of {plan.target}: {names(left)}, perhaps not compiled where they ran",
            refused=plan.provision.kind == "device",
        )
