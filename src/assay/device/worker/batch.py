"""Jobs of one kind on one GPU, one after the other: each fails or succeeds by itself.

A job that succeeds leaves its record; one that fails leaves a sentence beside the place where its
record would be (see ``failure_path``). Only the loss of the GPU itself ends a row early: the jobs
that were not reached have then left nothing.
"""

import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from assay.shared.errors import BadJob, DeviceError, NoDevice
from assay.shared.files import write_json
from assay.shared.job import Job, Json

FAILED = 1
"""Exit code of a row of which a job failed; what the others left is whole."""
Restart = Callable[[DeviceError, int], None]
"""Told of a failure and of its job's number; may start the rest of the row again, in which case it
does not return."""


def failure_path(output: Path) -> Path:
    """Where a job that failed leaves its sentence; the host looks there too."""
    return output.with_name(f"{output.name}.failure.json")


def one_kind(jobs: Sequence[Job]) -> None:
    """Raise BadJob unless all jobs share task and target, and no two write to one place."""
    for what, values in (
        ("task", [job.task for job in jobs]),
        ("target", [job.target.id for job in jobs]),
    ):
        if len(set(values)) > 1:
            raise BadJob(f"the jobs of a row have one {what}: {', '.join(sorted(set(values)))}")
    if len({job.output for job in jobs}) < len(jobs):
        raise BadJob("two jobs of a row write to one place")


def run_row(
    jobs: Sequence[Job],
    perform: Callable[[Job], Json],
    on_failure: Restart = lambda error, number: None,
) -> int:
    """Do every job; 0, or FAILED when one failed. Raises NoDevice when the GPU is not to be had."""
    code = 0
    for number, job in enumerate(jobs):
        failure_path(job.output).unlink(missing_ok=True)
        try:
            write_json(perform(job), job.output)
        except NoDevice as error:
            on_failure(error, number)
            raise
        except DeviceError as error:
            on_failure(error, number)
            _leave(job, str(error))
            code = FAILED
        except Exception as error:
            # A defect of ours in one job says nothing of the next; the trace is for whoever mends.
            traceback.print_exc()
            _leave(job, f"{type(error).__name__}: {error}")
            code = FAILED
    return code


def _leave(job: Job, sentence: str) -> None:
    """Say why there is no record, where the host will look and where a person reads."""
    write_json({"schema": "assay/job_failure/1", "message": sentence}, failure_path(job.output))
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
