"""Original programs, run as they are: fresh processes, whole output, telemetry beside it."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.device.worker.messages import progress, utc_now
from assay.device.worker.telemetry import Choice, Recorder, Sensor
from assay.shared.errors import BadJob
from assay.shared.files import sha256_file
from assay.shared.job import Job, Json, entry

TELEMETRY_INTERVAL_S = 0.05
"""NVML refreshes clocks and power every 20 ms or slower; programs run for seconds."""
POLL_S = 0.005


def run_once(command: Sequence[str], timeout_s: float, recorder: Recorder) -> Json:
    """Start a program in an empty directory of its own and wait; the ProgramRun record.

    One that outlives ``timeout_s`` is killed with its children, which its stderr then says.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        began = time.monotonic()
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        remark = ""
        try:
            while process.poll() is None:
                if time.monotonic() - began > timeout_s:
                    remark = f"[stopped after {timeout_s:g} s]\n"
                    break
                recorder.poll()
                time.sleep(POLL_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return {
            "exit_code": process.returncode,
            "seconds": round(time.monotonic() - began, 4),
            "stdout": _text(output),
            "stderr": _text(errors) + remark,
        }


def _text(stream: Any) -> str:
    stream.seek(0)
    return bytes(stream.read()).decode(errors="replace")


def run_program(job: Job, choice: Choice, sensor: Sensor) -> Json:
    """The ProgramRecord of a job. Raises BadJob when the file is not the one it names."""
    document = job.document
    path = Path(entry(document, "path")).resolve()
    expected = entry(document, "sha256")
    if not path.is_file() or sha256_file(path) != expected:
        raise BadJob(f"{path.name} is missing, or does not have the SHA-256 the job names")
    arguments = [str(argument) for argument in entry(document, "arguments")]
    count, timeout_s = int(entry(document, "runs")), float(entry(document, "timeout_s"))
    recorder = Recorder(sensor, TELEMETRY_INTERVAL_S)
    runs = []
    for number in range(1, count + 1):
        runs.append(run_once([str(path), *arguments], timeout_s, recorder))
        text = f"{document['program']}: exit code {runs[-1]['exit_code']}"
        progress(number, count, f"{text}, {runs[-1]['seconds']:.1f} s")
    recorder.sample()
    return {
        "schema": "assay/program/1",
        "program": entry(document, "program"),
        "arguments": arguments,
        "target": job.target.id,
        "gpu_uuid": choice.uuid,
        "recorded_at": utc_now(),
        "binary_sha256": expected,
        "runs": runs,
        "telemetry": recorder.telemetry.record(),
    }
