"""Whether what was timed had passed the gate before: by the same binary, on the same GPU. Pure.

Times are the signer's word (docs/trust.md), and so are outputs: judging holds them against each
other, and against what the hardware allows, wherever it runs.
"""

import re
from collections.abc import Iterator

from assay.base.check_log import CheckUnderWay, names
from assay.catalog.model import Catalog
from assay.evidence import stages
from assay.evidence.model import Evidence
from assay.records.base import GpuRecord

Ran = tuple[str, str, str | None]
"""(path of a record, variant or program, SHA-256 of its binary)."""


def check_machines(catalog: Catalog, evidence: Evidence, says: CheckUnderWay) -> None:
    """Refuse GPUs that are not of their target's product, and records of other GPUs than the
    target's, or than the one that checked the same comparison.
    """
    for plan in evidence.plan.targets:
        platform, target = evidence.platforms.get(plan.target), catalog.targets[plan.target]
        if platform is None:
            continue  # where one is called for, its absence is found as a missing record
        gpu = platform.device.gpu
        if re.fullmatch(target.product_pattern, gpu.product) is None or gpu.mig:
            which = f"'{gpu.product}'{', a MIG slice' if gpu.mig else ''}"
            says.refuse("gpu-product", f"{target.id}: measured on {which}, which it is not")
        for stage in stages.TARGET_STAGES:
            held = getattr(evidence, stage.collection)
            for key, path in stage.paths(plan).items():
                record = held.get(key)
                if not isinstance(record, GpuRecord):
                    continue
                gate = evidence.correctness.get(key[:2]) if stage.of_comparison else None
                for what, uuid in (
                    ("the platform record", gpu.uuid),
                    ("its gate", gate.gpu_uuid if gate else record.gpu_uuid),
                ):
                    if uuid != record.gpu_uuid:
                        how = f"is of GPU {record.gpu_uuid}, and {what} is of another"
                        says.refuse("gpu-uuid", f"{path} {how}")


def check_gates(catalog: Catalog, evidence: Evidence, says: CheckUnderWay) -> None:
    """Refuse arms that were timed without having passed every check, by the same binary."""
    for key, benchmark in evidence.benchmarks.items():
        gate = evidence.correctness.get(key)
        correct = {
            (arm.arm, arm.binary_sha256)
            for arm in (gate.arms if gate else ())
            if arm.status == "correct" and all(check.passed for check in arm.checks)
        }
        timed = {(arm.arm, arm.binary_sha256) for each in benchmark.processes for arm in each.arms}
        if wrong := {arm for arm, _ in timed - correct}:
            how = f"timed, and not correct before by the same binary: {names(wrong)}"
            says.refuse("gate-checks", f"{stages.BENCHMARKS.path(*key)}: {how}")


def check_binaries(catalog: Catalog, evidence: Evidence, says: CheckUnderWay) -> None:
    """Refuse records of binaries that no build record of their target's figures names."""
    for plan in evidence.plan.targets:
        builds = evidence.made_for(plan)
        if plan.provision.kind == "recorded" and not builds:
            says.leave(f"what compiled the binaries of {plan.target}")
            continue
        arch = catalog.targets[plan.target].arch
        for path, artifact, sha256 in _ran_on(evidence, plan.target):
            build = builds.get((artifact, arch))
            made = build.artifact.sha256 if build and build.artifact else None
            if sha256 is not None and sha256 != made:
                what = f"a binary of {artifact} that no record of a build names"
                says.refuse("binary", f"{path} is of {what}")


def _ran_on(evidence: Evidence, target: str) -> Iterator[Ran]:
    """Yield what was checked, timed and watched on a target."""
    for key, benchmark in evidence.benchmarks.items():
        for arm in (arm for process in benchmark.processes for arm in process.arms):
            if key[0] == target:
                yield stages.BENCHMARKS.path(*key), arm.variant, arm.binary_sha256
    for stage in (stages.CORRECTNESS, stages.STOPWATCHES):
        for key, record in getattr(evidence, stage.collection).items():
            for arm in record.arms if key[0] == target else ():
                yield stage.path(*key), arm.variant, arm.binary_sha256
    for key, program in evidence.programs.items():
        if key[0] == target:
            yield stages.PROGRAMS.path(*key), program.program, program.binary_sha256
    if target in evidence.sanitizers:
        for run in evidence.sanitizers[target].runs:
            yield stages.SANITIZERS.path(target), run.variant, run.binary_sha256
