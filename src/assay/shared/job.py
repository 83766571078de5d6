"""The jobs that the host hands to the device side: a dataclass a task, with what it needs.

The host makes them of its records (``assay.measuring.device_jobs``); ``specs`` has their parts,
``job_file`` their form on disk; ``TASKS`` says what the device side does for each.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.shared.specs import ArmSpec, ArtifactSpec, ComparisonSpec, Json, ProtocolSpec, TargetSpec


@dataclass(frozen=True)
class DeviceJob:
    """The part that all jobs have in common."""

    task: ClassVar[str]
    target: TargetSpec

    def artifacts(self) -> tuple[ArtifactSpec, ...]:
        """Return the files that the job runs, which must be readable where it runs."""
        return ()

    def folders(self) -> tuple[str, ...]:
        """Return folders that the job writes in, which must be writable where it runs."""
        return ()


@dataclass(frozen=True)
class PlatformJob(DeviceJob):
    """Read the GPU and the software that drives it."""

    task = "device"


@dataclass(frozen=True)
class ComparisonJob(DeviceJob):
    """A job about the arms of one comparison."""

    comparison: ComparisonSpec

    def artifacts(self) -> tuple[ArtifactSpec, ...]:
        """Return the compiled kernels of the arms."""
        return tuple(arm.artifact for arm in self.comparison.arms if arm.artifact)

    @property
    def runs_project(self) -> bool:
        """Return whether a project's code runs in it."""
        return any(arm.workload.code is not None for arm in self.comparison.arms)


@dataclass(frozen=True)
class CorrectnessJob(ComparisonJob):
    """Check every arm against its oracle."""

    task = "correctness"
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class BenchmarkJob(ComparisonJob):
    """Time the arms that passed the gate."""

    task = "benchmark"
    protocol: ProtocolSpec
    first: int
    """How many processes were measured before."""
    processes: int
    """How many there are, with those."""
    timed: tuple[str, ...]
    not_timed: dict[str, str]
    """The other arms, each with the reason."""


@dataclass(frozen=True)
class ProgramRunsJob(DeviceJob):
    """Run an original program several times."""

    task = "program"
    program: str
    artifact: ArtifactSpec
    arguments: tuple[str, ...]
    runs: int
    timeout_s: float
    verify: tuple[str, ...] = ()
    """Further arguments of one run that checks the output; none, and there is no such run."""

    def artifacts(self) -> tuple[ArtifactSpec, ...]:
        """Return the program."""
        return (self.artifact,)


@dataclass(frozen=True)
class OriginalRunsJob(DeviceJob):
    """Build and run an author's own program by the lines that were given, in a copy of a checkout.

    A line is given to a shell as it stands: it is a stranger's, or the user's own.
    """

    task = "original_run"
    source: str
    original: str
    directory: str
    """The copy, absolute; nothing outside it is written on purpose."""
    working: str
    """Where lines are typed, below it."""
    file: str | None
    """Below it: the one that the record has the digest of; None where the source names none."""
    checkout: Json
    """What was copied, as the record has it."""
    build: str | None
    build_by: Literal["source", "user"] | None
    run: str
    run_by: Literal["source", "user"]
    runs: int
    build_timeout_s: float
    run_timeout_s: float
    typed: str | None = None
    """The line as the source types it, where that is another than the one that runs the stated
    problem."""
    image: str | None = None
    """The image that it is built and run in, by its digest; the device side runs no such."""

    def folders(self) -> tuple[str, ...]:
        """Return the copy."""
        return (self.directory,)


@dataclass(frozen=True)
class ProfileJob(ComparisonJob):
    """Launch one arm once between cudaProfilerStart and Stop."""

    task = "profile"
    arm: str


@dataclass(frozen=True)
class StopwatchJob(ComparisonJob):
    """Time arms with another stopwatch."""

    task = "stopwatch"
    timed: tuple[str, ...]


@dataclass(frozen=True)
class CheatsJob(DeviceJob):
    """Try every kernel that cheats."""

    task = "cheats"


@dataclass(frozen=True)
class SanitizerJob(DeviceJob):
    """Run compiled kernels under compute-sanitizer."""

    task = "sanitize"
    arms: tuple[ArmSpec, ...]
    """Each variant once, on a problem of its own."""

    def artifacts(self) -> tuple[ArtifactSpec, ...]:
        """Return the compiled kernels."""
        return tuple(arm.artifact for arm in self.arms if arm.artifact)


PACKAGE = "assay.device.tasks"


@dataclass(frozen=True)
class DeviceTask:
    """The function that does a task, and what it must find when it is called."""

    job: type[DeviceJob]
    module: str
    """Below PACKAGE."""
    function: str
    """Takes the job and the GPU (``assay.device.worker.locks.OpenGpu``), returns the record."""
    together: bool = False
    """Whether the function takes all jobs of a batch instead, and returns for each what gives its
    record: jobs of which a part can be done side by side."""
    forks: bool = False
    """Whether it measures in children, which profit from what their parent has imported."""
    holds_gpu: bool = True
    needs_torch: bool = True

    @property
    def full_module(self) -> str:
        """Return the module's full name."""
        return f"{PACKAGE}.{self.module}"


TASKS = {
    task.job.task: task
    for task in (
        DeviceTask(PlatformJob, "platform", "run_platform", forks=True, holds_gpu=False),
        DeviceTask(CorrectnessJob, "correctness", "run_correctness", together=True, forks=True),
        DeviceTask(BenchmarkJob, "benchmark", "run_benchmark", forks=True),
        DeviceTask(ProgramRunsJob, "program_runs", "run_program", needs_torch=False),
        DeviceTask(
            OriginalRunsJob, "original_runs", "run_originals", together=True, needs_torch=False
        ),
        DeviceTask(ProfileJob, "profile", "run_profile"),
        DeviceTask(StopwatchJob, "nvbench", "run_stopwatch", forks=True),
        DeviceTask(CheatsJob, "cheats", "run_cheats", forks=True),
        DeviceTask(SanitizerJob, "sanitizer", "run_sanitizer"),
    )
}
