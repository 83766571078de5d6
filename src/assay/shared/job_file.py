"""A job on disk: written by the host, read by the device side.

Both are of one checkout, and the records that a job is made of have checked what a value may be.
"""

import types
from dataclasses import asdict, dataclass, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from assay.shared.bounded_json import parse_bounded
from assay.shared.errors import BadJob, FailureKind
from assay.shared.files import canonical_json
from assay.shared.job import TASKS, DeviceJob
from assay.shared.specs import Json

SCHEMA = "assay/job/2"
T = TypeVar("T")


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
    return {"task": job.task, "job": asdict(job)}


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


def build(declared: type[T], value: Any) -> T:
    """Return a value of parsed JSON as the declared type.

    Raises ValueError where a field is missing, unknown or of another form.
    """
    try:
        built: T = _build(declared, value)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"is no {declared.__name__}: {error}") from error
    return built


def _build(declared: Any, value: Any) -> Any:
    origin, of = get_origin(declared), get_args(declared)
    if origin in (Union, types.UnionType):  # X | None
        (one,) = (each for each in of if each is not type(None))
        return None if value is None else _build(one, value)
    if origin is tuple:
        each = [of[0]] * len(value) if of[-1] is Ellipsis else of
        return tuple(map(_build, each, value))
    if origin is dict:
        return {key: _build(of[1], member) for key, member in value.items()}
    if isinstance(declared, type) and is_dataclass(declared):
        hints = _hints(declared)
        return declared(**{key: _build(hints.get(key), member) for key, member in value.items()})
    if isinstance(declared, type) and issubclass(declared, Enum | Path | float):
        return declared(value)
    return value


@cache
def _hints(declared: Any) -> dict[str, Any]:
    return get_type_hints(declared)
