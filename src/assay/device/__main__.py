"""``python -m assay.device JOB.json ...``: do jobs one after the other, write one record each.

Exit codes: 0 all are done; 1 a job failed, and left its kind and a sentence beside its output (see
``failure_path``), while the others were done; 2 a job is malformed, and none was begun; 3 there is
no usable GPU of the asked kind, it is in use by others, or PyTorch or nvidia-ml-py is missing: what
was done before stays; 130 it was interrupted, and the same holds. The jobs of a batch have one task
and one target; they share one start of Python, one import of PyTorch and the GPU's lock, and each
still measures in fresh processes.
"""

import importlib
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from assay.device.worker.failure_kinds import kind_of
from assay.device.worker.forks import prepare_environment
from assay.device.worker.helper import load_helper
from assay.device.worker.locks import UNKNOWN_USE, OpenGpu, require_alone
from assay.device.worker.messages import utc_moment
from assay.device.worker.preload import (
    compiled_folder,
    keep_bytecode,
    keep_project_apart,
    left_out,
    modules_for,
    preload,
    share_compiled_kernels,
    start_again_without,
)
from assay.device.worker.telemetry import open_target
from assay.shared.confinement import confine_children
from assay.shared.errors import BadJob, DeviceError, ExitCode, FailureKind, NoDevice
from assay.shared.files import write_json
from assay.shared.gpu_locks import NO_LOCK, Lock, hold_gpu
from assay.shared.job import TASKS, ComparisonJob, DeviceTask
from assay.shared.job_file import JobFailure, QueuedJob, failure_path, read_job
from assay.shared.project_calls import project_place
from assay.shared.specs import Json


def main(arguments: list[str]) -> int:
    """Entry point; returns the exit code."""
    try:
        if not arguments:
            raise BadJob("usage: python -m assay.device JOB.json ...")
        batch = [read_job(Path(argument)) for argument in arguments]
        open_target(batch[0].job.target)
        comparisons = (queued.job for queued in batch if isinstance(queued.job, ComparisonJob))
        runs_project = any(job.runs_project for job in comparisons)
        if runs_project:
            keep_project_apart(batch[0].output)
        _preload(batch, arguments)
        if runs_project:
            confine_children(compiled_folder(batch[0].output), [project_place()])
        return _run(batch)
    except DeviceError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; the records that were written before are whole\n")
        return ExitCode.INTERRUPTED


def _run(batch: Sequence[QueuedJob]) -> int:
    """Do every job while the GPU is ours; returns the exit code."""

    def work(lock: Lock) -> int:
        works = _works(batch, lock)
        return run_batch(batch, lambda _: next(works)())

    if not TASKS[batch[0].job.task].holds_gpu:
        return work(NO_LOCK)
    with hold_gpu(open_target(batch[0].job.target)[1].uuid) as lock:
        return work(lock)


def _works(batch: Sequence[QueuedJob], lock: Lock) -> Iterator[Callable[[], Json]]:
    """Yield what gives each job's record, in their order."""
    task = TASKS[batch[0].job.task]
    if task.together:
        gpu = _open(batch[0], lock)
        for make in _function(task)([queued.job for queued in batch], gpu):
            yield partial(_stamped, task, make)
        return
    for queued in batch:
        yield partial(_performed, queued, lock)
        lock = replace(lock, waited_s=0.0)  # the batch waited once, before its first job


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


def _performed(queued: QueuedJob, lock: Lock) -> Json:
    """Return the record a job asks for. Raises DeviceError."""
    task = TASKS[queued.job.task]
    gpu = _open(queued, lock)
    return _stamped(task, partial(_function(task), queued.job, gpu))


def _open(queued: QueuedJob, lock: Lock) -> OpenGpu:
    """Return the GPU of a job where nobody else uses it."""
    task = TASKS[queued.job.task]
    nvml, choice = open_target(queued.job.target)
    if task.needs_torch:
        _require_torch(queued.output)
    gpu = OpenGpu(nvml, choice, lock)
    if not task.holds_gpu:
        return gpu
    if task.forks:
        load_helper(queued.output.parent)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        # What this process has on it itself cannot be told from others.
        use, remark = UNKNOWN_USE, "this process used the GPU already"
    else:
        use, remark = require_alone(nvml, choice)
    return replace(gpu, use=use, remark=remark)


def _function(task: DeviceTask) -> Callable[..., Any]:
    """Import late what does a task, for it imports PyTorch."""
    found: Callable[..., Any] = getattr(importlib.import_module(task.full_module), task.function)
    return found


def _stamped(task: DeviceTask, make: Callable[[], Json]) -> Json:
    """Return a record with the time that it was worked for on the GPU."""
    began = utc_moment()
    record = make()
    if task.holds_gpu:
        record["on_gpu"] = {"began": began, "ended": utc_moment()}
    return record


def _preload(batch: Sequence[QueuedJob], arguments: list[str]) -> None:
    """Import what the children will need; where that touches CUDA, start again without it."""
    names: list[str] = []
    for job in (queued.job for queued in batch):
        if TASKS[job.task].forks and isinstance(job, ComparisonJob):
            names += modules_for(job.comparison)
    if names:
        _require_torch(batch[0].output)
        skipped = left_out()
        if touching := preload(name for name in dict.fromkeys(names) if name not in skipped):
            start_again_without(touching, arguments)


def _require_torch(output: Path) -> None:
    """Import PyTorch, without touching CUDA. Raises NoDevice with the remedy."""
    prepare_environment()
    share_compiled_kernels(compiled_folder(output))
    keep_bytecode(compiled_folder(output))
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise NoDevice(
            f"this Python ({sys.executable}) lacks PyTorch: name one that has it "
            f"with --device-python ({error})"
        ) from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
