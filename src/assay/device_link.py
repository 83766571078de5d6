"""The host's end of the link to the device side: JSON job out, JSON record back.

The device side (``assay.device``) runs under another Python, which has PyTorch; the host never
imports it.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from assay.errors import AssayError, CheckFailed, MissingEnvironment
from assay.io import read_record
from assay.records.base import Record

R = TypeVar("R", bound=Record)

DEVICE_MISSING = 3
"""Exit code by which the device side says that it has no usable GPU of the asked kind."""


class DeviceJobFailed(CheckFailed):
    """The device side ended with an error; the message ends with its last words."""


def source_root() -> Path:
    """The directory that holds the ``assay`` package."""
    return Path(__file__).resolve().parents[1]


def device_environment() -> dict[str, str]:
    """The caller's environment, with the package on the path of the device's Python."""
    paths = [str(source_root()), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYTHONUNBUFFERED": "1",
    }


def run_device_job(
    device_python: str,
    job: dict[str, Any],
    record: type[R],
    *,
    under: Sequence[str] = (),
    echo: bool = True,
) -> R:
    """Run one job and return its record.

    ``under`` is a command that starts the device's Python (a profiler, say). Progress lines of the
    job go to standard error when ``echo``. Raises MissingEnvironment when there is no usable GPU of
    the asked kind, DeviceJobFailed when the job fails.
    """
    with tempfile.TemporaryDirectory(prefix="assay-job-") as scratch:
        job_path, output = Path(scratch, "job.json"), Path(scratch, "output.json")
        job_path.write_text(json.dumps({"schema": "assay/job/1", "output": str(output), **job}))
        command = [*under, device_python, "-m", "assay.device", str(job_path)]
        try:
            process = subprocess.Popen(
                command, env=device_environment(), stderr=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise MissingEnvironment(
                f"cannot start the device side with {command[0]}: {error.strerror}; "
                "give another Python with --device-python"
            ) from error
        last_words = _relay(process, echo)
        if process.returncode == DEVICE_MISSING:
            raise MissingEnvironment(last_words or "the device side found no usable GPU")
        if process.returncode != 0:
            raise DeviceJobFailed(
                f"device job '{job['task']}' ended with code {process.returncode}: {last_words}"
            )
        try:
            return read_record(record, output)
        except AssayError as error:
            raise DeviceJobFailed(
                f"device job '{job['task']}' wrote no valid record: {error}"
            ) from (error)


def _relay(process: "subprocess.Popen[str]", echo: bool) -> str:
    """Pass the job's standard error on as it comes; return its last line."""
    last = ""
    assert process.stderr is not None
    for line in process.stderr:
        last = line.strip() or last
        if echo:
            sys.stderr.write(line)
            sys.stderr.flush()
    process.wait()
    return last
