"""Original programs, run as they are: fresh processes, whole output, telemetry beside it."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.device.worker.locks import OpenGpu
from assay.device.worker.messages import progress, utc_now
from assay.device.worker.telemetry import Recorder
from assay.shared.errors import BadJob
from assay.shared.files import sha256_file
from assay.shared.job import ProgramRunsJob
from assay.shared.processes import run_to_end
from assay.shared.specs import Json

TELEMETRY_INTERVAL_S = 0.05
"""NVML refreshes clocks and power every 20 ms or slower; programs run for seconds."""


def run_once(command: Sequence[str], timeout_s: float, recorder: Recorder) -> Json:
    """Start a program in an empty directory of its own and wait; the ProgramRun record.

    One that outlives ``timeout_s`` is killed with its children, which its stderr then says.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        ended = run_to_end(
            command, timeout_s, recorder.poll, cwd=folder, stdout=output, stderr=errors
        )
        remark = ended.pop("remark")
        return {**ended, "stdout": _text(output), "stderr": _text(errors) + remark}


def _text(stream: Any) -> str:
    stream.seek(0)
    return bytes(stream.read()).decode(errors="replace")


def run_program(job: ProgramRunsJob, gpu: OpenGpu) -> Json:
    """Return the ProgramRecord of a job. Raises BadJob when the file is not the one it names."""
    path = Path(job.artifact.path).resolve()
    if not path.is_file() or sha256_file(path) != job.artifact.sha256:
        raise BadJob(f"{path.name} is missing, or does not have the SHA-256 the job names")
    recorder = Recorder(gpu.sensor(), TELEMETRY_INTERVAL_S)
    runs = []
    for number in range(1, job.runs + 1):
        runs.append(run_once([str(path), *job.arguments], job.timeout_s, recorder))
        text = f"{job.program}: exit code {runs[-1]['exit_code']}"
        progress(number, job.runs, f"{text}, {runs[-1]['seconds']:.1f} s")
    recorder.sample()
    verification: Json | None = None
    if job.verify:
        # Its telemetry goes no further: the record's is of the timed runs.
        arguments = [*job.arguments, *job.verify]
        beside = Recorder(gpu.sensor(), TELEMETRY_INTERVAL_S)
        run = run_once([str(path), *arguments], job.timeout_s, beside)
        text = f"{job.program}: verification, exit code {run['exit_code']}"
        progress(job.runs, job.runs, f"{text}, {run['seconds']:.1f} s")
        verification = {**run, "arguments": arguments}
    return {
        "schema": "assay/program/1",
        "program": job.program,
        "arguments": list(job.arguments),
        "target": job.target.id,
        "gpu_uuid": gpu.choice.uuid,
        "recorded_at": utc_now(),
        "binary_sha256": job.artifact.sha256,
        "runs": runs,
        "verification": verification,
        "telemetry": recorder.telemetry.record(),
    }
