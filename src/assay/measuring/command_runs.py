"""Commands of a project where there are containers: built and run in images, by lines of a shell.

Without an image of its own a command is built in the image that compiles kernels, and run in the
one that measures. One with an image is built and run in that. Nothing of it runs on the host.
"""

import shlex
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.building.toolchain import CUDA, IMAGE_SITE
from assay.evidence.outcomes import NO_SUCH_COMMAND
from assay.measuring.device_process import gpu_variables, run_device_batch, run_device_job
from assay.measuring.host_machine import now
from assay.measuring.resume import Results
from assay.records.originals import CheckoutCopy, GivenLine, LineRun, OriginalRunRecord
from assay.runtimes.base import Bind, CommandOutcome, Place, Task
from assay.shared.errors import NoDevice
from assay.shared.gpu_locks import hold_gpu
from assay.shared.job import DeviceJob, OriginalRunsJob
from assay.shared.kept_output import kept_output

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
COMPILER_PATH = f"{IMAGE_SITE}/{CUDA}/bin:{SYSTEM_PATH}"
"""Where the toolchain image has nvcc, and all else."""
LINE = """\
/bin/sh -c "$1" >"$2/stdout" 2>"$2/stderr" &
line=$!
(sleep "$3"; echo >"$2/late"; kill -9 $line) &
wait $line
exit $?"""
"""Ends with the line, or when its time is over; the container takes what it left along."""

Runner = Callable[[Task, Callable[[str], None]], CommandOutcome]
"""Runs a task in a container of some image."""


@dataclass(frozen=True)
class CommandPlaces:
    """Where commands of a project are built and run."""

    runner: Place
    """Where GPU jobs run; its image is None on the host."""
    compiler: Callable[[], Place]
    """Where kernels are compiled, asked for where something is built there."""
    image: Callable[[str], Runner]
    """An image by its digest. Raises MissingEnvironment where it cannot be had."""
    gpu_uuid: str


def run_commands(
    places: CommandPlaces, jobs: Sequence[DeviceJob], into: Sequence[Path]
) -> Results[OriginalRunRecord]:
    """Build and run commands; those that the device side can, in one start of it."""
    every = list(zip(jobs, into, strict=True))
    here = [(job, path) for job, path in every if _on_device_side(places, job)]
    told, paths = [job for job, _ in here], [path for _, path in here]
    ran = iter(run_device_batch(places.runner, told, OriginalRunRecord, into=paths))
    return [next(ran) if job in told else _by_lines(places, job) for job in jobs]


def _on_device_side(places: CommandPlaces, job: DeviceJob) -> bool:
    """Return whether the device side builds and runs a command, where it runs itself."""
    assert isinstance(job, OriginalRunsJob)
    return job.image is None and (places.runner.image is None or job.build is None)


def _by_lines(places: CommandPlaces, job: DeviceJob) -> OriginalRunRecord | CheckFailed:
    """Return what one command came to of which lines run in containers."""
    assert isinstance(job, OriginalRunsJob)
    try:
        return _in_its_image(places, job, job.image) if job.image else _built_in_image(places, job)
    except CheckFailed as error:
        return error


def _built_in_image(places: CommandPlaces, job: OriginalRunsJob) -> OriginalRunRecord:
    assert job.build is not None
    compiler = places.compiler()
    lines = Lines(compiler.run, job, {"PATH": COMPILER_PATH})
    build = lines.run(job.build, job.build_timeout_s)
    built = _record(places, job, build)
    if build.exit_code != 0:
        return built
    told = run_device_job(places.runner, replace(job, build=None, build_by=None), OriginalRunRecord)
    return told.model_copy(update={"build_line": built.build_line, "build": build})


def _in_its_image(places: CommandPlaces, job: OriginalRunsJob, image: str) -> OriginalRunRecord:
    """Return what a command printed in the image that it names."""
    try:
        run = places.image(image)
    except MissingEnvironment as error:
        return _record(places, job, None).model_copy(update={"lacking": str(error)})
    lines = Lines(run, job, {})
    build = None if job.build is None else lines.run(job.build, job.build_timeout_s)
    record = _record(places, job, build)
    if build is not None and build.exit_code != 0:
        return record
    lines = Lines(run, job, gpu_variables(places.gpu_uuid), gpu=True)

    def series(line: str | None) -> tuple[LineRun, ...]:
        asked = [] if line is None else [line] * job.runs
        return tuple(lines.run(each, job.run_timeout_s) for each in asked)

    try:
        with hold_gpu(places.gpu_uuid):
            ran = {"runs": series(job.run), "typed_runs": series(job.typed)}
    except NoDevice as error:
        raise MissingEnvironment(str(error)) from error
    return record.model_copy(update=ran)


def _record(
    places: CommandPlaces, job: OriginalRunsJob, build: LineRun | None
) -> OriginalRunRecord:
    """Return the record of a command that did not run yet."""
    return OriginalRunRecord(
        schema="assay/original_run/1",
        source=job.source,
        original=job.original,
        target=job.target.id,
        gpu_uuid=places.gpu_uuid,
        recorded_at=now(),
        file=None,
        file_sha256=None,
        checkout=CheckoutCopy.model_validate(job.checkout),
        compiler=None,
        build_line=None
        if job.build is None or job.build_by is None
        else GivenLine(line=job.build, by=job.build_by),
        build=build,
        run_line=GivenLine(line=job.run, by=job.run_by),
        runs=(),
        typed_line=None if job.typed is None else GivenLine(line=job.typed, by="source"),
        image=job.image,
    )


@dataclass(frozen=True)
class Lines:
    """Lines of one command, each in a container of its own, in the copy of the project's files."""

    start: Runner
    job: OriginalRunsJob
    environment: dict[str, str] = field(default_factory=dict)
    gpu: bool = False

    def run(self, line: str, timeout_s: float) -> LineRun:
        """Give a line to a shell and wait; what it prints is kept up to a bound."""
        copy = Path(self.job.directory)
        with tempfile.TemporaryDirectory(prefix="assay-line-") as name:
            folder = Path(name)
            with kept_output(folder / "stdout") as output, kept_output(folder / "stderr") as errors:
                began = time.monotonic()
                outcome = self.start(
                    Task(
                        command=("/bin/sh", "-c", LINE, "sh", line, name, f"{timeout_s:g}"),
                        directory=copy / self.job.working,
                        label=f"command {self.job.original}",
                        environment=self.environment,
                        binds=(Bind(copy, writable=True), Bind(folder, writable=True)),
                        gpu=self.gpu,
                    ),
                    lambda _: None,
                )
                seconds = time.monotonic() - began
            remark = f"[stopped after {timeout_s:g} s]\n" if (folder / "late").exists() else ""
            if outcome.out_of_memory:
                remark += "[its container ran out of memory]\n"
            if outcome.exit_code == NO_SUCH_COMMAND and not errors.data:
                remark += f"[the image has no program of this line: {shlex.quote(line)}]\n"
        return LineRun(
            exit_code=outcome.exit_code,
            # As fine as the clock: verify tells a copy of a run by its time.
            seconds=round(seconds, 9),
            stdout=output.text(),
            stderr=errors.text() + remark,
            cut=output.cut or errors.cut,
        )
