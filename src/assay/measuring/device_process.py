"""The host's end of the link to the device side: JSON job out, JSON record back.

The device side (``assay.device``) runs under another Python, which has PyTorch, on the host or in
a container; the host never imports it.
"""

import os
import tempfile
import time
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from assay.base.errors import AssayError, CheckFailed, MissingEnvironment
from assay.base.io import read_record
from assay.base.isolation import python_variables
from assay.base.progress import quote
from assay.records.base import Record
from assay.runtimes.base import Bind, CommandOutcome, Place, Task
from assay.shared import confinement, gpu_locks, project_calls
from assay.shared.errors import ExitCode
from assay.shared.job import BenchmarkJob, ComparisonJob, DeviceJob
from assay.shared.job_file import QueuedJob, failure_path, read_failure, write_job

R = TypeVar("R", bound=Record)

SOURCE = Path(__file__).resolve().parents[2]
"""The directory that holds the ``assay`` package."""
PASSED_ON = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "ASSAY_SHARED_GPU",
)
"""Variables that say which GPUs are ours; a container gets these of the caller's, and no others."""


def device_python(named: str | None) -> str:
    """Return the device's Python: a command's name, or a path that holds from any directory."""
    name = named or "python3"
    # Links stay: a virtual environment's Python is one, and would lose its packages.
    return os.path.abspath(name) if os.sep in name else name  # noqa: PTH100


def gpu_variables(gpu: str | None) -> dict[str, str]:
    """Return the variables that say which GPUs are ours: the caller's, or the one that is named."""
    callers = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return callers if gpu is None else {**callers, "CUDA_VISIBLE_DEVICES": gpu}


class DeviceJobFailed(CheckFailed):
    """The device side ended with an error; the message ends with its last words."""


class NoMemory(MissingEnvironment):
    """A container's limit on memory ended the only job of a batch."""


def device_environment(place: Place) -> dict[str, str]:
    """Return where the device's Python finds code, ours first, and which GPUs are ours."""
    cache = {} if place.cache is None else {"ASSAY_DEVICE_CACHE": str(place.cache)}
    code = {} if place.project is None else {project_calls.VARIABLE: str(place.project.resolve())}
    protected = os.pathsep.join(str(path.resolve()) for path in (SOURCE, *place.protected))
    return {
        **cache,
        **code,
        confinement.VARIABLE: protected,
        gpu_locks.VARIABLE: str(_locks()),
        **gpu_variables(place.gpu),
        **python_variables([SOURCE, *place.packages]),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run_device_job(place: Place, job: DeviceJob, record: type[R], *, echo: bool = True) -> R:
    """Return the record of one job. Raises as ``run_device_batch``, or DeviceJobFailed."""
    (result,) = run_device_batch(place, [job], record, echo=echo)
    if isinstance(result, DeviceJobFailed):
        raise result
    return result


def run_device_batch(
    place: Place,
    jobs: Sequence[DeviceJob],
    record: type[R],
    *,
    into: Sequence[Path] | None = None,
    under: Sequence[str] = (),
    files: Iterable[Path] = (),
    echo: bool = True,
) -> list[R | DeviceJobFailed]:
    """Run jobs of one task and one target in one start of the device side; return each one's record
    or error. ``into``: files of the records (.json, .json.gz), written as they come, so that an
    interrupted batch leaves what it finished. ``under``: a profiler's command that starts the
    Python; ``files``: directories it writes to. A job that takes the device side down has failed,
    and those behind it get another start, but not ``under`` a profiler. Raises MissingEnvironment
    without a usable GPU of the asked kind.
    """
    with tempfile.TemporaryDirectory(prefix="assay-job-") as name:
        scratch = Path(name)
        outputs = into or [scratch / f"output.{number}.json" for number in range(len(jobs))]
        pairs = zip(jobs, outputs, strict=True)
        batch = [_JobFile(scratch, number, *pair) for number, pair in enumerate(pairs)]
        writable = {*files, *(output.parent for output in outputs)}
        results: dict[int, R | DeviceJobFailed] = {}
        while left := [file for file in batch if file.number not in results]:
            outcome, words = _start(place, scratch, left, under, writable, echo)
            if outcome.exit_code == ExitCode.MACHINE_LACKS:
                raise MissingEnvironment(words or "the device side found no usable GPU")
            found = {file.number: _result(file, record) for file in left}
            results |= {number: result for number, result in found.items() if result is not None}
            if silent := [file for file in left if file.number not in results]:
                if outcome.out_of_memory and len(batch) == 1:
                    raise NoMemory(str(_silent(silent[0], outcome, words)))
                # The first without a word is the one that it died of.
                again = not under and outcome.exit_code != ExitCode.BAD_INPUT
                lost = silent[:1] if again else silent
                results |= {file.number: _silent(file, outcome, words) for file in lost}
        return [results[file.number] for file in batch]


@dataclass(frozen=True)
class _JobFile:
    """A job as a file, and where its record and its word of failure will be."""

    scratch: Path
    number: int
    job: DeviceJob
    output: Path

    @property
    def path(self) -> Path:
        return self.scratch / f"job.{self.number}.json"

    @property
    def label(self) -> str:
        return f"device job '{self.job.task}'"


class _TimeLeft:
    """How much of a batch is done, and how long the rest takes at the speed so far."""

    def __init__(self, batch: Sequence[_JobFile]) -> None:
        self._shares = [(file, _share(file.job)) for file in batch]
        self._done, self._began = 0, time.monotonic()

    def words(self) -> str:
        """Return it where a job has ended since it was asked for last; else nothing."""
        outputs = ((file.output, share) for file, share in self._shares)
        done = [share for path, share in outputs if path.is_file() or failure_path(path).is_file()]
        if len(done) == self._done:
            return ""
        self._done, every = len(done), sum(share for _, share in self._shares)
        left = (time.monotonic() - self._began) * (every / sum(done) - 1)
        takes = f"{left / 60:.0f} min" if left >= 99 else f"{left:.0f} s"
        return f" ({len(done)} of {len(self._shares)} done, about {takes} left)"


def _share(job: DeviceJob) -> int:
    """Return about what a job takes: arms, of a benchmark in each of its processes."""
    if isinstance(job, BenchmarkJob):
        return max(1, len(job.timed)) * (job.processes - job.first)
    return len(job.comparison.arms) if isinstance(job, ComparisonJob) else 1


def _silent(file: _JobFile, outcome: CommandOutcome, last_words: str) -> DeviceJobFailed:
    """Return the error of a job that one start of the device side left without a word."""
    if outcome.out_of_memory:
        return DeviceJobFailed(f"{file.label} needed more memory than its container may have")
    if outcome.exit_code in (ExitCode.DONE, ExitCode.CHECK_FAILED):
        return DeviceJobFailed(f"{file.label} wrote no record")
    return DeviceJobFailed(f"{file.label} ended with code {outcome.exit_code}: {last_words}")


def _start(
    place: Place,
    scratch: Path,
    batch: Sequence[_JobFile],
    under: Sequence[str],
    writable: Set[Path],
    echo: bool,
) -> tuple[CommandOutcome, str]:
    """Start the device side once, on all jobs of ``batch``; its end, and its last words."""
    last_words, left = "", _TimeLeft(batch)

    def relay(line: str) -> None:
        nonlocal last_words
        last_words = line.strip() or last_words
        if echo:
            quote(f"{line}{left.words()}")

    for file in batch:
        file.output.unlink(missing_ok=True)
        failure_path(file.output).unlink(missing_ok=True)
        write_job(QueuedJob(file.job, file.output), file.path)
    tasks = dict.fromkeys(file.job.task for file in batch)
    artifacts = (artifact for file in batch for artifact in file.job.artifacts())
    folders = (Path(artifact.path).parent for artifact in artifacts)
    code = () if place.project is None else (place.project.resolve(),)
    readable = {SOURCE, *place.packages, *folders, *code}
    written = (Path(folder) for file in batch for folder in file.job.folders())
    writable = {scratch, _locks(), *writable, *written, *([place.cache] if place.cache else [])}
    outcome = place.run(
        Task(
            command=(
                *under, place.python, "-m", "assay.device", *(str(file.path) for file in batch),
            ),
            directory=scratch,
            label=f"device job {', '.join(tasks)}",
            environment=device_environment(place),
            inherit=True,
            binds=(
                *(Bind(path) for path in sorted(readable)),
                *(Bind(path, writable=True) for path in sorted(writable)),
            ),
            gpu=True,
            counters=bool(under),
        ),
        relay,
    )  # fmt: skip
    return outcome, last_words


def _result(file: _JobFile, record: type[R]) -> R | DeviceJobFailed | None:
    """Return what a job left: its record, its word of failure, or None."""
    try:
        failure = failure_path(file.output)
        if failure.is_file():
            found = read_failure(failure)
            failure.unlink()
            return DeviceJobFailed(f"{file.label} failed: {found.message}")
        return read_record(record, file.output) if file.output.is_file() else None
    except (AssayError, OSError, ValueError) as error:
        return DeviceJobFailed(f"{file.label} wrote no valid record: {error}")


def _locks() -> Path:
    """Return the directory of the GPUs' locks, made for every user of the machine."""
    try:
        return gpu_locks.make_lock_folder()
    except OSError as error:
        raise MissingEnvironment(
            f"{gpu_locks.lock_folder()}: cannot be made for the GPUs' locks: {error.strerror}"
        ) from error
