"""Whether the GPU that records name is the target that they are filed under. Pure."""

import re

from assay.catalog.model import Catalog
from assay.evidence.entries import TargetStage
from assay.evidence.model import Evidence
from assay.evidence.stages import PLATFORMS, TARGET_STAGES
from assay.records.base import GpuRecord
from assay.records.plan import TargetPlan
from assay.records.platform import PlatformRecord
from assay.records.targets import Target
from assay.verification.contradictions import Findings


def check_machines(catalog: Catalog, evidence: Evidence) -> Findings:
    """Return where a target's platform, and its records, are of another GPU or another subject."""
    findings = Findings()
    for plan in evidence.plan.targets:
        platform = evidence.platforms.get(plan.target)
        if platform is None:
            continue  # where one is called for, its absence is found as a missing record
        _check_platform(catalog.targets[plan.target], platform, findings)
        for stage in TARGET_STAGES:
            _check_records(evidence, plan, stage, platform.device.gpu.uuid, findings)
    return findings


def _check_platform(target: Target, platform: PlatformRecord, findings: Findings) -> None:
    gpu = platform.device.gpu
    if platform.target != target.id:
        findings.refuse("platform", f"{target.id}: its platform record is of {platform.target}")
    if re.fullmatch(target.product_pattern, gpu.product) is None:
        findings.refuse("gpu-product", f"{target.id}: measured on '{gpu.product}', which it is not")
    for what, recorded, described in (
        ("compute capability", gpu.compute_capability, target.compute_capability),
        ("number of multiprocessors", gpu.multiprocessors, target.multiprocessors),
    ):
        if recorded != described:
            says = f"{target.id}: the {what} is {recorded}, and the target's is {described}"
            findings.refuse("gpu-architecture", says)
    digits = re.sub(r"\D", "", target.arch)
    if digits != target.compute_capability.replace(".", ""):
        says = f"{target.id}: {target.arch} is not compute capability {target.compute_capability}"
        findings.refuse("gpu-architecture", says)
    if gpu.mig:
        findings.refuse("gpu-product", f"{target.id}: a MIG slice was measured")


def _check_records(
    evidence: Evidence,
    plan: TargetPlan,
    stage: TargetStage,  # type: ignore[type-arg]
    uuid: str,
    findings: Findings,
) -> None:
    """Each record is of the target and the subject that its path says, and of the one GPU."""
    held = getattr(evidence, stage.collection)
    for key, path in stage.paths(plan).items():
        record = held.get(key)
        if record is None or stage is PLATFORMS:
            continue
        if isinstance(record, GpuRecord) and record.gpu_uuid != uuid:
            says = f"{path} is of GPU {record.gpu_uuid}, the platform record of {uuid}"
            findings.refuse("gpu-uuid", says)
        named = (getattr(record, "target", plan.target), getattr(record, "comparison", None))
        if named[0] != plan.target or (stage.of_comparison and named[1] != key[1]):
            findings.refuse("misfiled", f"{path} is the record of {' '.join(filter(None, named))}")
