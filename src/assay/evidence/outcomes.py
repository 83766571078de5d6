"""Outcomes of records beside the figures, and their form when they came to nothing. Pure."""

from collections.abc import Callable
from typing import Any, TypeVar

from assay.records.base import Record
from assay.records.originals import OriginalRunRecord
from assay.records.side_evidence import (
    CheatsRecord,
    ProfileRecord,
    SanitizerRecord,
    StopwatchArm,
    StopwatchRecord,
)
from assay.shared.job import DeviceJob, ProfileJob, StopwatchJob

R = TypeVar("R", bound=Record)


NO_SUCH_COMMAND = 127
"""A shell's exit code where a line's program is none."""


FailedForm = Callable[[DeviceJob, str, str, str], R]
"""Makes a record of nothing but a sentence: of the job, the GPU's UUID, the time, and that."""


def came_to_nothing(record: Record) -> bool:
    """Return whether a record says ``failed``, of an arm or for want of a program. What others say
    of a single kernel that crashed is a finding, and stands.
    """
    if isinstance(record, StopwatchRecord):
        return any(arm.status == "failed" for arm in record.arms)
    if isinstance(record, OriginalRunRecord):
        no_program = record.build is not None and record.build.exit_code == NO_SUCH_COMMAND
        return no_program or record.lacking is not None
    return getattr(record, "status", None) == "failed"


def _head(name: str, job: DeviceJob, gpu_uuid: str) -> dict[str, Any]:
    """Return what all of these records begin with."""
    return {"schema": f"assay/{name}/1", "target": job.target.id, "gpu_uuid": gpu_uuid}


def failed_stopwatch(
    job: DeviceJob, gpu_uuid: str, recorded_at: str, sentence: str
) -> StopwatchRecord:
    """Return a record without a time of any arm that was to be timed."""
    assert isinstance(job, StopwatchJob)
    nothing = dict.fromkeys(
        ("events_median_ms", "nvbench_cold_ms", "nvbench_statistic", "nvbench_samples")
    )
    arms = tuple(
        StopwatchArm(
            arm=arm.id,
            variant=arm.variant.id,
            workload=arm.workload.id,
            binary_sha256=arm.artifact.sha256 if arm.artifact else None,
            status="failed",
            detail=sentence,
            **nothing,
        )
        for arm in job.comparison.arms
        if arm.id in job.timed
    )
    return StopwatchRecord(
        **_head("stopwatch", job, gpu_uuid), recorded_at=recorded_at,
        comparison=job.comparison.id, nvbench=None, arms=arms,
    )  # fmt: skip


def failed_profile(job: DeviceJob, gpu_uuid: str, recorded_at: str, sentence: str) -> ProfileRecord:
    """Return a record without metrics of an arm. The record has no room for ``recorded_at``."""
    assert isinstance(job, ProfileJob)
    return ProfileRecord(
        **_head("profile", job, gpu_uuid), comparison=job.comparison.id, arm=job.arm,
        status="failed", detail=sentence, kernel=None, metrics={}, units={}, raw_page=None,
    )  # fmt: skip


def _failed_alone(name: str, record: type[R], **nothing: Any) -> FailedForm[R]:
    """Return what makes a target's lone record, with ``nothing`` in the place of its findings."""

    def failed(job: DeviceJob, gpu_uuid: str, recorded_at: str, sentence: str) -> R:
        told = {"recorded_at": recorded_at, "status": "failed", "detail": sentence}
        return record.model_validate({**_head(name, job, gpu_uuid), **told, **nothing})

    return failed


failed_cheats = _failed_alone("cheats", CheatsRecord, cheats=())
failed_sanitizer = _failed_alone(
    "sanitizer", SanitizerRecord, version=None, controls=(), runs=(), seconds=0.0
)
