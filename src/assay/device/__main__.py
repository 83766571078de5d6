"""``python -m assay.device JOB.json ...``: do jobs one after the other, write one record each.

Exit codes: 0 all are done; 1 a job failed, and left a sentence beside its output (see ``row``),
while the others were done; 2 a job is malformed, and none was begun; 3 there is no usable GPU of
the asked kind, it is in use by others, or PyTorch or nvidia-ml-py is missing: what was done before
stays. The jobs of a row have one task and one target; they share one start of Python, one import of
PyTorch and the GPU's lock, and each still measures in fresh processes.
"""

import importlib
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.device.worker.batch import one_kind, run_row
from assay.device.worker.forks import prepare_environment
from assay.device.worker.locks import Lock, Use, Watch, exclusivity_record, hold_gpu, require_alone
from assay.device.worker.preload import (
    modules_for,
    preload,
    share_compiled_kernels,
    start_again_without,
)
from assay.device.worker.telemetry import Choice, NvmlSensor, open_target
from assay.shared.errors import BadJob, DeviceError, NoDevice
from assay.shared.job import (
    Comparison,
    Job,
    Json,
    Protocol,
    entry,
    make_comparison,
    make_protocol,
    read_job,
)

BEGAN = time.monotonic()
FORKING = {"correctness", "benchmark", "stopwatch"}
"""Tasks whose children profit from what the parent has imported."""
BESIDE = {"stopwatch": ("nvbench", "run_stopwatch"), "sanitize": ("sanitizer", "run_sanitizer")}
"""Tasks that take a comparison and no protocol: their modules and functions."""
FORK_TROUBLE = "in forked subprocess"
"""Words of PyTorch's when a parent has used CUDA before it forked."""
WATCH_INTERVAL_S = 0.25
"""How often a second compute process is looked for: a look costs NVML a millisecond or so."""


def _require_torch(job: Job) -> None:
    """Import PyTorch, without touching CUDA. Raises NoDevice with the remedy."""
    prepare_environment()
    share_compiled_kernels(job.output.resolve().parent / "compiled")
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise NoDevice(
            f"this Python ({sys.executable}) lacks PyTorch: name one that has it "
            f"with --device-python ({error})"
        ) from error


def _understand(job: Job) -> tuple[Comparison | None, Protocol | None]:
    """What a job says beyond its task. Raises BadJob; it needs no GPU to say so."""
    comparison = None
    if job.task in {"correctness", "benchmark", "profile", "stopwatch", "sanitize"}:
        comparison = make_comparison(job)
    return comparison, make_protocol(job) if job.task == "benchmark" else None


def _preload(jobs: Sequence[Job], arguments: list[str]) -> list[str]:
    """Import what the children will need; where that touches CUDA, start again without it."""
    names: dict[str, None] = {}
    for job in jobs:
        if job.task in FORKING:
            names.update(dict.fromkeys(modules_for(make_comparison(job))))
    if names:
        _require_torch(jobs[0])
        guilty = preload(names)
        if guilty is not None:
            start_again_without([guilty], arguments)
    return list(names)


def _task(name: str) -> Any:
    """A task's module; imported late, for it imports PyTorch."""
    return importlib.import_module(f"assay.device.tasks.{name}")


def perform(job: Job, lock: Lock, began: float) -> Json:
    """The record a job asks for; ``began`` is when work for it did. Raises DeviceError."""
    comparison, protocol = _understand(job)
    nvml, choice = open_target(job.target)
    if job.task != "program":
        _require_torch(job)
    if job.task == "device":
        return _record(_task("platform").run_platform(nvml, choice))
    ready = max(0.0, time.monotonic() - began - lock.waited_s)
    use, remark = _alone(nvml, choice)
    record = _measure(job, comparison, protocol, nvml, choice)
    if job.task == "benchmark":
        record["exclusivity"] = exclusivity_record(lock, use, remark)
        record["import_seconds"] = round(ready, 3)
    return record


def _alone(nvml: Any, choice: Choice) -> tuple[Use, str]:
    """Nobody else uses the GPU; what this process has on it itself cannot be told from others."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return Use(None, None), "this process used the GPU already"
    return require_alone(nvml, choice)


def _row(jobs: Sequence[Job], preloaded: list[str], arguments: list[str]) -> int:
    """Do every job while the GPU is ours; the exit code."""

    def restart(error: DeviceError, number: int) -> None:
        if preloaded and FORK_TROUBLE in str(error):
            start_again_without(preloaded, arguments[number:])

    def work(lock: Lock) -> int:
        began = BEGAN

        def one(job: Job) -> Json:
            nonlocal began, lock
            try:
                return perform(job, lock, began)
            finally:
                # The row waited once, before its first job.
                began, lock = time.monotonic(), replace(lock, waited_s=0.0)

        return run_row(jobs, one, restart)

    if jobs[0].task == "device":
        return work(Lock(None, 0.0, ""))
    with hold_gpu(open_target(jobs[0].target)[1].uuid) as lock:
        return work(lock)


def _measure(
    job: Job, comparison: Comparison | None, protocol: Protocol | None, nvml: Any, choice: Choice
) -> Json:
    """A job that uses the GPU, which is ours alone."""
    sensor = NvmlSensor(nvml, choice.uuid)
    if job.task == "program":
        return _record(_task("program_runs").run_program(job, choice, sensor))
    if job.task == "profile":
        return _record(_task("profile").run_profile(comparison, entry(job.document, "arm"), choice))
    if job.task == "benchmark":
        run = _task("benchmark").run_benchmark
        watch = Watch(nvml, choice.uuid, WATCH_INTERVAL_S)
        return _record(run(job, comparison, protocol, choice, sensor, watch))
    if job.task in BESIDE:
        module, function = BESIDE[job.task]
        return _record(getattr(_task(module), function)(job, comparison, choice))
    if job.task in {"cheats", "operators"}:
        return _record(getattr(_task(job.task), f"run_{job.task}")(job, choice))
    seeds = [int(seed) for seed in entry(job.document, "seeds")]
    return _record(_task("correctness").run_correctness(job, comparison, seeds, choice))


def _record(value: Any) -> Json:
    assert isinstance(value, dict)
    return value


def main(arguments: list[str]) -> int:
    """Entry point; returns the exit code."""
    try:
        if not arguments:
            raise BadJob("usage: python -m assay.device JOB.json ...")
        jobs = [read_job(Path(argument)) for argument in arguments]
        one_kind(jobs)
        for job in jobs:
            _understand(job)
        open_target(jobs[0].target)
        return _row(jobs, _preload(jobs, arguments), arguments)
    except DeviceError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
