"""``python -m assay.device JOB.json ...``: do jobs one after the other, write one record each.

Exit codes: 0 done; 1 a job failed; 2 a job is malformed; 3 there is no usable GPU of the asked
kind, it is in use by others, or PyTorch or nvidia-ml-py is missing. Several jobs share one start of
Python and one import of PyTorch; each still measures in fresh processes. The first that fails ends
the row.
"""

import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.device.errors import BadJob, DeviceError, NoDevice
from assay.device.exclusive import Watch, exclusivity_record, hold_gpu, require_alone
from assay.device.jobs import (
    Comparison,
    Job,
    Json,
    Protocol,
    entry,
    make_comparison,
    make_protocol,
    read_job,
    write_record,
)
from assay.device.preload import (
    modules_for,
    preload,
    share_compiled_kernels,
    start_again_without,
)
from assay.device.telemetry import Choice, NvmlSensor, open_target
from assay.device.zygote import prepare_environment

BEGAN = time.monotonic()
FORKING = {"correctness", "benchmark", "stopwatch"}
"""Tasks whose children profit from what the parent has imported."""
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
    if job.task in {"correctness", "benchmark", "profile", "stopwatch"}:
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
    return importlib.import_module(f"assay.device.{name}")


def perform(job: Job, began: float) -> Json:
    """The record a job asks for; ``began`` is when work for it did. Raises DeviceError."""
    comparison, protocol = _understand(job)
    nvml, choice = open_target(job.target)
    if job.task != "program":
        _require_torch(job)
    if job.task == "device":
        return _record(_task("platform").run_platform(nvml, choice))
    ready = time.monotonic() - began
    with hold_gpu(choice.uuid) as lock:
        use, remark = require_alone(nvml, choice)
        record = _measure(job, comparison, protocol, nvml, choice)
    if job.task == "benchmark":
        record["exclusivity"] = exclusivity_record(lock, use, remark)
        record["import_seconds"] = round(ready, 3)
    return record


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
        run = _task("benchmark_run").run_benchmark
        watch = Watch(nvml, choice.uuid, WATCH_INTERVAL_S)
        return _record(run(job, comparison, protocol, choice, sensor, watch))
    if job.task == "stopwatch":
        return _record(_task("nvbench").run_stopwatch(job, comparison, choice))
    if job.task == "cheats":
        return _record(_task("cheats").run_cheats(job, choice))
    seeds = [int(seed) for seed in entry(job.document, "seeds")]
    return _record(_task("correctness").run_correctness(job, comparison, seeds, choice))


def _record(value: Any) -> Json:
    assert isinstance(value, dict)
    return value


def main(arguments: list[str]) -> int:
    """Entry point; returns the exit code."""
    preloaded: list[str] = []
    try:
        if not arguments:
            raise BadJob("usage: python -m assay.device JOB.json ...")
        jobs = [read_job(Path(argument)) for argument in arguments]
        for job in jobs:
            _understand(job)
        for job in jobs:
            open_target(job.target)
        preloaded = _preload(jobs, arguments)
        began = BEGAN
        for job in jobs:
            write_record(perform(job, began), job.output)
            began = time.monotonic()
    except DeviceError as error:
        if preloaded and FORK_TROUBLE in str(error):
            start_again_without(preloaded, arguments)
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
