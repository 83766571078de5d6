"""job_file: a job is read back as it was written, or refused."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from assay.shared.errors import BadJob, FailureKind
from assay.shared.job import (
    TASKS,
    CheatsJob,
    CorrectnessJob,
    DeviceJob,
    OriginalRunsJob,
    PlatformJob,
    ProfileJob,
    ProgramRunsJob,
    SanitizerJob,
    StopwatchJob,
)
from assay.shared.job_file import (
    JobFailure,
    QueuedJob,
    failure_path,
    read_failure,
    read_job,
    write_job,
)
from assay.shared.specs import ArmSpec
from tests.jobs import BUILT, KERNEL, SPARSE, TARGET, benchmark, comparison, document

ORIGINAL = OriginalRunsJob(
    TARGET, "002", "winner", "/copy", ".", "a.cu", {"files": 1}, None, None, "./a", "user", 5,
    60.0, 60.0,
)  # fmt: skip
JOBS: tuple[DeviceJob, ...] = (
    PlatformJob(TARGET),
    CorrectnessJob(TARGET, comparison(), (1, 2)),
    benchmark(),
    ProgramRunsJob(TARGET, "cutlass_88", BUILT, ("--b=1",), 5, 300.0),
    ORIGINAL,
    ProfileJob(TARGET, comparison(), "ours"),
    StopwatchJob(TARGET, comparison(), ("ours",)),
    CheatsJob(TARGET),
    SanitizerJob(TARGET, (ArmSpec("k", KERNEL, SPARSE, BUILT),)),
)


def write(folder: Path, content: Any) -> Path:
    path = folder / "job.json"
    path.write_text(json.dumps(content))
    return path


def changed(place: str, value: Any) -> dict[str, Any]:
    """The document of a benchmark with one value changed; ``...`` takes the key away."""
    whole = document(benchmark())
    *way, last = place.split(".")
    inner: Any = whole
    for key in way:
        inner = inner[int(key) if key.isdigit() else key]
    inner[last] = value
    if value is ...:
        del inner[last]
    return whole


def test_there_is_a_job_for_every_task() -> None:
    assert {job.task for job in JOBS} == set(TASKS)
    assert {type(job) for job in JOBS} == {task.job for task in TASKS.values()}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.task)
def test_a_job_is_read_back_as_it_was_written(job: DeviceJob, tmp_path: Path) -> None:
    queued = QueuedJob(job, tmp_path / "out.json")
    write_job(queued, tmp_path / "job.json")
    assert read_job(tmp_path / "job.json") == queued


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("job.protocol.samples", ...),
        ("job.protocol.sampels", 10),
        ("job.comparison.arms", 7),
        ("task", "dance"),
        ("output", ...),
    ],
)
def test_refuses_a_job_of_another_version(tmp_path: Path, place: str, value: Any) -> None:
    with pytest.raises(BadJob):
        read_job(write(tmp_path, changed(place, value)))


@pytest.mark.parametrize("text", ["{", "[]", '{"b": {"a": 1, "a": 2}}', "[" * 100_000])
def test_refuses_what_is_no_object_of_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.json"
    path.write_text(text)
    with pytest.raises(BadJob):
        read_job(path)


def test_a_failure_carries_its_kind(tmp_path: Path) -> None:
    failure = JobFailure(FailureKind.NO_ROOM, "the GPU is full")
    path = failure_path(tmp_path / "out.json")
    path.write_text(json.dumps(asdict(failure)))
    assert read_failure(path) == failure
    path.write_text('{"message": "an old word"}')
    with pytest.raises(ValueError, match="kind"):
        read_failure(path)
