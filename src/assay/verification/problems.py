"""Whether recorded FLOPs, bytes and patterns are those of the workloads, and binaries those built.

Pure. What a launch does follows from its workload and seed alone, and is computed here again.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import (
    BENCHMARKS,
    CORRECTNESS,
    PROGRAMS,
    SANITIZERS,
    STOPWATCHES,
)
from assay.records.measurements import ArmCorrectness, ArmFacts
from assay.records.plan import TargetPlan
from assay.records.side_evidence import StopwatchArm
from assay.records.workload_specs import workload_spec
from assay.records.workloads import Comparison
from assay.shared.launch_facts import launch_facts
from assay.shared.stored_blocks import workload_blocks
from assay.verification.contradictions import Findings

ALWAYS_RECORDED = ("flop", "bytes", "pattern_sha256", "stored_blocks", "density")


@dataclass
class _Problems:
    """The facts of workloads by name, each computed once."""

    catalog: Catalog
    known: dict[str, dict[str, Any]] = field(default_factory=dict)

    def facts(self, workload: str) -> dict[str, Any]:
        if workload not in self.known:
            spec = workload_spec(self.catalog.workloads[workload])
            facts = launch_facts(spec, *workload_blocks(spec, spec.seed))
            self.known[workload] = asdict(facts)
        return self.known[workload]


def check_problems(catalog: Catalog, evidence: Evidence) -> Findings:
    """Return where an arm's facts are not those of the arm that the comparison plans."""
    findings, problems = Findings(), _Problems(catalog)
    for (target, name), record in evidence.benchmarks.items():
        path = BENCHMARKS.path(target, name)
        for process in record.processes:
            for facts in process.arms:
                _check_facts(problems, catalog.comparisons[name], facts, path, findings)
    for (target, name), gate in evidence.correctness.items():
        for arm in gate.arms:
            _check_planned(catalog.comparisons[name], arm, CORRECTNESS.path(target, name), findings)
    for (target, name), beside in evidence.stopwatches.items():
        for timed in beside.arms:
            path = STOPWATCHES.path(target, name)
            _check_planned(catalog.comparisons[name], timed, path, findings)
    return findings


def _check_planned(
    comparison: Comparison,
    arm: ArmFacts | ArmCorrectness | StopwatchArm,
    path: str,
    findings: Findings,
) -> bool:
    planned = {each.id: (each.variant, each.workload) for each in comparison.arms}
    if planned.get(arm.arm) == (arm.variant, arm.workload):
        return True
    says = f"{path}: arm {arm.arm} is {arm.variant} on {arm.workload}, as {comparison.id} is not"
    findings.refuse("arm-problem", says)
    return False


def _check_facts(
    problems: _Problems, comparison: Comparison, facts: ArmFacts, path: str, findings: Findings
) -> None:
    if not _check_planned(comparison, facts, path, findings):
        return
    computed = problems.facts(facts.workload)
    compared = (*ALWAYS_RECORDED, *(("counts",) if facts.counts else ()))
    if not facts.counts:
        findings.leave("counts of a problem's parts, which older records do not have")
    wrong = [name for name in compared if computed[name] != getattr(facts, name)]
    if wrong:
        first = wrong[0]
        findings.refuse(
            "arm-facts",
            f"{path}: arm {facts.arm} records {first} {getattr(facts, first)}, and workload "
            f"{facts.workload} has {computed[first]}",
        )


def check_binaries(catalog: Catalog, evidence: Evidence) -> Findings:
    """Return records of binaries that no build record of their target's figures names."""
    findings = Findings()
    for plan in evidence.plan.targets:
        if plan.provision.kind == "none":
            continue
        if plan.provision.kind == "recorded" and not evidence.made_for(plan):
            findings.leave(f"what compiled the binaries of {plan.target}")
            continue
        _check_binaries_of(catalog, evidence, plan, findings)
    return findings


def _check_binaries_of(
    catalog: Catalog, evidence: Evidence, plan: TargetPlan, findings: Findings
) -> None:
    arch = catalog.targets[plan.target].arch
    builds = evidence.made_for(plan)

    def check(path: str, artifact: str, sha256: str | None, compiled: bool) -> None:
        build = builds.get((artifact, arch))
        if not compiled and sha256 is None:
            return
        if build is not None and build.artifact and build.artifact.sha256 == sha256:
            return
        says = f"{path} is of a binary of {artifact} that no record of a build names"
        findings.refuse("binary", says)

    for (target, name), record in evidence.benchmarks.items():
        for process in record.processes if target == plan.target else ():
            for arm in process.arms:
                compiled = catalog.variants[arm.variant].kind == "kernel"
                path = BENCHMARKS.path(target, name)
                check(path, arm.variant, arm.binary_sha256, compiled)
    for (target, name), gate in evidence.correctness.items():
        for checked in gate.arms if target == plan.target else ():
            compiled = catalog.variants[checked.variant].kind == "kernel"
            correct = checked.status == "correct"
            path = CORRECTNESS.path(target, name)
            check(path, checked.variant, checked.binary_sha256, compiled=compiled and correct)
    for (target, job), run in evidence.programs.items():
        if target == plan.target:
            check(PROGRAMS.path(target, job), run.program, run.binary_sha256, compiled=True)
    for (target, name), beside in evidence.stopwatches.items():
        for each in beside.arms if target == plan.target else ():
            path = STOPWATCHES.path(target, name)
            check(path, each.variant, each.binary_sha256, compiled=False)
    if plan.target in evidence.sanitizers:
        for watched in evidence.sanitizers[plan.target].runs:
            path = SANITIZERS.path(plan.target)
            check(path, watched.variant, watched.binary_sha256, compiled=False)
