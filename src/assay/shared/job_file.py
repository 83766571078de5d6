"""The one form of a job on disk: written by the host, read strictly by the device side."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.shared.bounded_json import parse_bounded
from assay.shared.dataclass_json import build, plain
from assay.shared.errors import BadJob, FailureKind
from assay.shared.files import canonical_json
from assay.shared.job import DeviceJob
from assay.shared.specs import Json
from assay.shared.tasks import TASKS

SCHEMA = "assay/job/2"


@dataclass(frozen=True)
class JobFailure:
    """The word left by a job that came to no record."""

    kind: FailureKind
    message: str
    """One sentence for a person."""
    schema: Literal["assay/job_failure/2"] = "assay/job_failure/2"


@dataclass(frozen=True)
class QueuedJob:
    """A job, and the file its record goes to."""

    job: DeviceJob
    output: Path


def job_content(job: DeviceJob) -> Json:
    """Return all that a job says, its task among it, as JSON has it."""
    return {"task": job.task, "job": plain(job)}


def write_job(queued: QueuedJob, path: Path) -> None:
    """Write a job's file."""
    document = {"schema": SCHEMA, "output": str(queued.output), **job_content(queued.job)}
    path.write_bytes(canonical_json(document))


def read_job(path: Path) -> QueuedJob:
    """Read a job's file. Raises BadJob with one sentence."""
    try:
        document = parse_bounded(path.read_bytes())
        task = TASKS[document["task"]]
        return QueuedJob(build(task.job, document["job"]), Path(document["output"]))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BadJob(f"{path}: cannot be read as a job: {error}") from error


def failure_path(output: Path) -> Path:
    """Return where a job that failed leaves its word, from where its record would be."""
    return output.with_name(f"{output.name}.failure.json")


def read_failure(path: Path) -> JobFailure:
    """Read what a failed job left. Raises OSError or ValueError where that is no such word."""
    return build(JobFailure, parse_bounded(path.read_bytes()))
