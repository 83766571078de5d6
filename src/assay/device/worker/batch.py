"""Jobs of one kind on one GPU, one after the other: each fails or succeeds by itself.

A job that succeeds leaves its record; one that fails leaves its kind and a sentence beside the
place where its record would be (see ``failure_path``). Only the loss of the GPU itself ends a batch
early: the jobs that were not reached have then left nothing.
"""

import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict

from assay.device.worker.failure_kinds import kind_of
from assay.shared.errors import DeviceError, ExitCode, FailureKind, NoDevice
from assay.shared.files import write_json
from assay.shared.job_file import JobFailure, QueuedJob, failure_path
from assay.shared.specs import Json


def run_batch(batch: Sequence[QueuedJob], perform: Callable[[QueuedJob], Json]) -> int:
    """Do every job; returns the exit code. Raises NoDevice when the GPU is not to be had."""
    code = ExitCode.DONE
    for queued in batch:
        failure_path(queued.output).unlink(missing_ok=True)
        try:
            write_json(perform(queued), queued.output)
        except NoDevice:
            raise
        except DeviceError as error:
            _leave(queued, error.kind, str(error))
            code = ExitCode.CHECK_FAILED
        except Exception as error:
            # A defect of ours in one job says nothing of the next; the trace is for whoever mends.
            traceback.print_exc()
            _leave(queued, kind_of(error), f"{type(error).__name__}: {error}")
            code = ExitCode.CHECK_FAILED
    return code


def _leave(queued: QueuedJob, kind: FailureKind, sentence: str) -> None:
    """Say why there is no record, where the host will look and where a person reads."""
    write_json(asdict(JobFailure(kind, sentence)), failure_path(queued.output))
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
