"""The host's end of the link to the device side: JSON job out, JSON record back.

The device side (``assay.device``) runs under another Python, which has PyTorch, on the host or in
a container; the host never imports it.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from assay.errors import AssayError, CheckFailed, MissingEnvironment
from assay.io import read_record
from assay.records.base import Record
from assay.runtimes.base import Bind, Place, Task

R = TypeVar("R", bound=Record)

DEVICE_MISSING = 3
"""Exit code by which the device side says that it has no usable GPU of the asked kind."""
PASSED_ON = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "ASSAY_SHARED_GPU",
)
"""Variables that say which GPUs are ours; a container gets these of the caller's, and no others."""
LOCKS = Path("/tmp/assay-gpu-locks")  # noqa: S108 - all users of a machine must meet there
"""One lock a GPU, for jobs on the host and in containers alike (ASSAY_LOCK_DIR names another)."""


class DeviceJobFailed(CheckFailed):
    """The device side ended with an error; the message ends with its last words."""


def source_root() -> Path:
    """The directory that holds the ``assay`` package."""
    return Path(__file__).resolve().parents[1]


def device_environment(place: Place) -> dict[str, str]:
    """Variables of the device side: the package on its Python's path, and which GPUs are ours.

    On the host the caller's own path comes behind; a container has its packages in the image.
    """
    paths = [str(source_root()), "" if place.image else os.environ.get("PYTHONPATH", "")]
    cache = {} if place.cache is None else {"ASSAY_DEVICE_CACHE": str(place.cache)}
    return {
        **cache,
        "ASSAY_LOCK_DIR": str(_locks()),
        **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run_device_job(
    place: Place,
    job: dict[str, Any],
    record: type[R],
    *,
    under: Sequence[str] = (),
    files: Iterable[Path] = (),
    counters: bool = False,
    echo: bool = True,
) -> R:
    """Run one job at ``place`` and return its record.

    ``under`` is a command that starts the device's Python (a profiler, say); ``files`` are
    directories it writes to; ``counters`` when it reads performance counters. Every artifact that
    the job names is readable. Progress lines of the job go to standard error when ``echo``.
    Raises MissingEnvironment when there is no usable GPU of the asked kind, DeviceJobFailed when
    the job fails.
    """
    with tempfile.TemporaryDirectory(prefix="assay-job-") as scratch:
        job_path, output = Path(scratch, "job.json"), Path(scratch, "output.json")
        job_path.write_text(json.dumps({"schema": "assay/job/1", "output": str(output), **job}))
        last_words = ""

        def relay(line: str) -> None:
            nonlocal last_words
            last_words = line.strip() or last_words
            if echo:
                print(line, file=sys.stderr, flush=True)

        readable = {source_root(), *_artifact_folders(job)}
        writable = {Path(scratch), _locks(), *files, *([place.cache] if place.cache else [])}
        outcome = place.run(
            Task(
                command=(*under, place.python, "-m", "assay.device", str(job_path)),
                directory=Path(scratch),
                label=f"device job {job['task']}",
                environment=device_environment(place),
                inherit=True,
                binds=(
                    *(Bind(path) for path in sorted(readable)),
                    *(Bind(path, writable=True) for path in sorted(writable)),
                ),
                gpu=True,
                counters=counters,
            ),
            relay,
        )
        if outcome.exit_code == DEVICE_MISSING:
            raise MissingEnvironment(last_words or "the device side found no usable GPU")
        if outcome.out_of_memory:
            raise MissingEnvironment(
                f"device job '{job['task']}' needed more memory than its container may have"
            )
        if outcome.exit_code != 0:
            raise DeviceJobFailed(
                f"device job '{job['task']}' ended with code {outcome.exit_code}: {last_words}"
            )
        try:
            return read_record(record, output)
        except AssayError as error:
            raise DeviceJobFailed(
                f"device job '{job['task']}' wrote no valid record: {error}"
            ) from error


def _locks() -> Path:
    """The directory of the GPUs' locks, made so that every user of the machine can use it."""
    folder = Path(os.environ.get("ASSAY_LOCK_DIR", LOCKS))
    try:
        folder.mkdir(mode=0o1777)
        folder.chmod(0o1777)  # mkdir's mode is cut by the umask
    except FileExistsError:
        pass
    except OSError as error:
        raise MissingEnvironment(
            f"{folder}: cannot be made for the GPUs' locks: {error.strerror}"
        ) from error
    return folder


def _artifact_folders(job: dict[str, Any]) -> set[Path]:
    """Folders of the binaries that a job names."""
    paths = [artifact["path"] for artifact in job.get("artifacts", {}).values()]
    if "path" in job:
        paths.append(job["path"])
    return {Path(path).parent for path in paths}
