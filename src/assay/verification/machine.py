"""Whether the GPU that records name is the target that they are filed under. Pure."""

import re

from assay.catalog.model import Catalog
from assay.evidence.entries import TargetStage
from assay.evidence.model import Evidence
from assay.evidence.stages import (
    BENCHMARKS,
    BUILDS,
    PLATFORMS,
    PROFILES,
    STOPWATCHES,
    TARGET_STAGES,
    slurm_jobs_path,
)
from assay.judging.cutlass_output import job_id
from assay.records.base import GpuRecord, Record
from assay.records.measurements import ProgramRecord
from assay.records.plan import TargetPlan
from assay.records.platform import Gpu, PlatformRecord
from assay.records.targets import Target
from assay.verification.contradictions import Findings


def check_machines(catalog: Catalog, evidence: Evidence) -> Findings:
    """Return where a target's platform, and its records, are of another GPU or another subject."""
    findings = Findings()
    for (artifact, arch), build in evidence.builds.items():
        if (build.id, build.arch) != (artifact, arch):
            says = f"{BUILDS.path(artifact, arch)} is the record of {build.id} for {build.arch}"
            findings.refuse("misfiled", says)
    for plan in evidence.plan.targets:
        platform = evidence.platforms.get(plan.target)
        if platform is None:
            continue  # where one is called for, its absence is found as a missing record
        _check_platform(catalog.targets[plan.target], platform, findings)
        for stage in TARGET_STAGES:
            _check_records(evidence, plan, stage, platform, findings)
        _check_gated(evidence, plan, findings)
    _check_jobs(evidence, findings)
    return findings


def _check_jobs(evidence: Evidence, findings: Findings) -> None:
    """Each job of a cluster that ended well held the GPU whose figures the report has."""
    for job in evidence.slurm_jobs.jobs if evidence.slurm_jobs else ():
        platform = evidence.platforms.get(job.target)
        if job.outcome != "done" or job.gpu is None or platform is None:
            continue
        if platform.of_card(job.gpu.uuid) is None:
            says = (
                f"{slurm_jobs_path()}: {job.stage} of {job.target} held GPU {job.gpu.uuid}, and "
                f"the platform record is of {platform.uuids}"
            )
            findings.refuse("gpu-uuid", says)


def _check_platform(target: Target, platform: PlatformRecord, findings: Findings) -> None:
    if platform.target != target.id:
        findings.refuse("platform", f"{target.id}: its platform record is of {platform.target}")
    digits = re.sub(r"\D", "", target.arch)
    if digits != target.compute_capability.replace(".", ""):
        says = f"{target.id}: {target.arch} is not compute capability {target.compute_capability}"
        findings.refuse("gpu-architecture", says)
    uuids = [device.gpu.uuid for device in platform.devices]
    if len(set(uuids)) < len(uuids):
        findings.refuse("gpu-uuid", f"{target.id}: its platform record names a GPU twice")
    for device in platform.devices:
        _check_gpu(target, device.gpu, findings)


def _check_gpu(target: Target, gpu: Gpu, findings: Findings) -> None:
    if re.fullmatch(target.product_pattern, gpu.product) is None:
        findings.refuse("gpu-product", f"{target.id}: measured on '{gpu.product}', which it is not")
    for what, recorded, described in (
        ("compute capability", gpu.compute_capability, target.compute_capability),
        ("number of multiprocessors", gpu.multiprocessors, target.multiprocessors),
    ):
        if recorded != described:
            says = f"{target.id}: the {what} is {recorded}, and the target's is {described}"
            findings.refuse("gpu-architecture", says)
    if gpu.mig:
        findings.refuse("gpu-product", f"{target.id}: a MIG slice was measured")


def _check_gated(evidence: Evidence, plan: TargetPlan, findings: Findings) -> None:
    """What is measured of a comparison is measured on the GPU that checked it."""
    for stage in (BENCHMARKS, STOPWATCHES, PROFILES):
        held = getattr(evidence, stage.collection)
        for key, path in stage.paths(plan).items():
            gate, record = evidence.correctness.get(key[:2]), held.get(key)
            if gate is not None and record is not None and record.gpu_uuid != gate.gpu_uuid:
                says = f"{path} is of GPU {record.gpu_uuid}, and was checked on {gate.gpu_uuid}"
                findings.refuse("gpu-uuid", says)


def _check_records(
    evidence: Evidence,
    plan: TargetPlan,
    stage: TargetStage,  # type: ignore[type-arg]
    platform: PlatformRecord,
    findings: Findings,
) -> None:
    """Each record is of the target and the subject that its path says, and of one of its GPUs."""
    held = getattr(evidence, stage.collection)
    for key, path in stage.paths(plan).items():
        record = held.get(key)
        if record is None or stage is PLATFORMS:
            continue
        if isinstance(record, GpuRecord) and platform.of_card(record.gpu_uuid) is None:
            says = f"{path} is of GPU {record.gpu_uuid}, the platform record of {platform.uuids}"
            findings.refuse("gpu-uuid", says)
        named = _named(record, plan.target, len(key) if stage.each else 1)
        if named != (key if stage.each else (plan.target,)):
            findings.refuse("misfiled", f"{path} is the record of {' '.join(map(str, named))}")


def _named(record: Record, target: str, parts: int) -> tuple[str, ...]:
    """Return what a record says it is of, as the key that it is filed under has it."""
    if isinstance(record, ProgramRecord):
        return record.target, job_id(record.program, record.arguments)
    named = (getattr(record, "target", target), *(
        getattr(record, name) for name in ("comparison", "arm", "original") if hasattr(record, name)
    ))  # fmt: skip
    return named[:parts]
