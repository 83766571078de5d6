"""Whether records are of the GPU, the target and the subject that they are filed under. Pure."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

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
    file_compile_path,
)
from assay.judging.cutlass_output import job_id
from assay.records.base import GpuRecord, Record
from assay.records.measurements import ProgramRecord
from assay.records.plan import TargetPlan
from assay.records.platform import Gpu, PlatformRecord, Target
from assay.shared.counting import agreeing, counted
from assay.verification.contradictions import Findings

SKEW = timedelta(minutes=10)
"""By which two honest clocks may differ."""
NEAR = (0.9, 1.12)
"""Of the GB in a product's name, what NVML counts: some are reserved, some are GiB."""


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
    return findings


def _check_platform(target: Target, platform: PlatformRecord, findings: Findings) -> None:
    if platform.target != target.id:
        findings.refuse("platform", f"{target.id}: its platform record is of {platform.target}")
    for gpu in (device.gpu for device in platform.devices):
        if re.fullmatch(target.product_pattern, gpu.product) is None or gpu.mig:
            says = f"measured on '{gpu.product}'{', a MIG slice' if gpu.mig else ''}"
            findings.refuse("gpu-product", f"{target.id}: {says}, which it is not")


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


def check_file_compiles(evidence: Evidence, findings: Findings) -> None:
    """Add records of files compiled as published that are missing, or are of another file."""
    recorded = (job for target in evidence.plan.targets for job in target.compilations)
    for job in (*evidence.plan.compilations, *recorded):
        record = evidence.file_compiles.get(job.key)
        path = evidence.file_compile_paths.get(job.key, file_compile_path(*job.key))
        if record is None:
            findings.refuse("record-missing", f"{path} is missing, though the plan calls for it")
        elif any(getattr(record, name) != value for name, value in job):
            findings.refuse("misfiled", f"{path}: is of another file or checkout than the plan's")


def remarks(catalog: Catalog, evidence: Evidence, created: str, now: datetime) -> Iterator[str]:
    """Yield what looks like an honest mistake, and proves nothing.

    ``created``: when the report says that it was made.
    """
    for plan in evidence.plan.targets:
        platform = evidence.platforms.get(plan.target)
        for device in platform.devices if platform is not None else ():
            yield from _other_product(catalog.targets[plan.target], device.gpu)
    made = _moment(created)
    if made > now + SKEW:
        yield f"the report says that it was made in the future: {created}"
    if late := [at for at in _recorded(evidence) if at > made + SKEW]:
        records = counted(len(late), "record")
        be = agreeing(len(late), "is", "are")
        yield f"the report says that it was made at {created}, and {records} {be} later"


def _other_product(target: Target, gpu: Gpu) -> Iterator[str]:
    """Yield that a GPU has other parts than its product."""
    for what, recorded, described in (
        ("compute capability", gpu.compute_capability, target.compute_capability),
        ("multiprocessors", gpu.multiprocessors, target.multiprocessors),
        ("bytes of L2", gpu.l2_bytes, target.l2_bytes),
    ):
        if recorded != described:
            yield f"{target.id}: {what} on record {recorded}, of {target.product} {described}"
    named = re.search(r"(\d+) ?GB", target.product)
    memory_gb = gpu.memory_bytes / 1e9
    if named is not None and not NEAR[0] <= memory_gb / int(named[1]) <= NEAR[1]:
        yield f"{target.id}: {memory_gb:.0f} GB of memory on record, of {target.product} {named[1]}"


def _recorded(evidence: Evidence) -> Iterator[datetime]:
    """Yield when each record of a target was made, where it says so."""
    for stage in TARGET_STAGES:
        for record in getattr(evidence, stage.collection).values():
            if (at := getattr(record, "recorded_at", None)) is not None:
                yield _moment(at)


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
