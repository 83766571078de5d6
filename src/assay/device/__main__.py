"""``python -m assay.device JOB.json``: do one job, write one record.

Exit codes: 0 done; 1 the job failed; 2 the job is malformed; 3 there is no usable GPU of the asked
kind, or PyTorch or nvidia-ml-py is missing.
"""

import importlib
import sys
from pathlib import Path
from typing import Any

from assay.device.errors import BadJob, DeviceError, NoDevice
from assay.device.jobs import (
    Job,
    Json,
    entry,
    make_comparison,
    make_protocol,
    read_job,
    write_record,
)
from assay.device.telemetry import NvmlSensor, open_target
from assay.device.zygote import prepare_environment


def _require_torch() -> None:
    """Import PyTorch, without touching CUDA. Raises NoDevice with the remedy."""
    prepare_environment()
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise NoDevice(
            f"this Python ({sys.executable}) lacks PyTorch: name one that has it "
            f"with --device-python ({error})"
        ) from error


def _task(name: str) -> Any:
    """A task's module; imported late, for it imports PyTorch."""
    return importlib.import_module(f"assay.device.{name}")


def perform(job: Job) -> Json:
    """The record a job asks for. Raises DeviceError."""
    # Read first what can be wrong with the job itself: it needs no GPU to say so.
    comparison = None
    if job.task in {"correctness", "benchmark", "profile"}:
        comparison = make_comparison(job)
    protocol = make_protocol(job) if job.task == "benchmark" else None
    nvml, choice = open_target(job.target)
    sensor = NvmlSensor(nvml, choice.uuid)
    if job.task == "program":
        return _record(_task("program_runs").run_program(job, choice, sensor))
    _require_torch()
    if job.task == "device":
        return _record(_task("platform").run_platform(nvml, choice))
    if job.task == "profile":
        return _record(_task("profile").run_profile(comparison, entry(job.document, "arm"), choice))
    if job.task == "benchmark":
        run = _task("benchmark_run").run_benchmark
        return _record(run(job, comparison, protocol, choice, sensor))
    seeds = [int(seed) for seed in entry(job.document, "seeds")]
    return _record(_task("correctness").run_correctness(job, comparison, seeds, choice))


def _record(value: Any) -> Json:
    assert isinstance(value, dict)
    return value


def main(arguments: list[str]) -> int:
    """Entry point; returns the exit code."""
    try:
        if len(arguments) != 1:
            raise BadJob("usage: python -m assay.device JOB.json")
        job = read_job(Path(arguments[0]))
        write_record(perform(job), job.output)
    except DeviceError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
