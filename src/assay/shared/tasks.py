"""The device side's function for each task that a job names: one table, read by both sides."""

from dataclasses import dataclass

from assay.shared.job import (
    BenchmarkJob,
    CheatsJob,
    CorrectnessJob,
    DeviceJob,
    OperatorsJob,
    OriginalRunsJob,
    PlatformJob,
    ProfileJob,
    ProgramRunsJob,
    SanitizerJob,
    StopwatchJob,
)

PACKAGE = "assay.device.tasks"
"""The modules' package."""


@dataclass(frozen=True)
class DeviceTask:
    """The function that does a task, and what it must find when it is called."""

    job: type[DeviceJob]
    """Whose ``task`` names it."""
    module: str
    """Below PACKAGE."""
    function: str
    """Takes the job and the GPU (``assay.device.worker.gpu.OpenGpu``), returns the record."""
    forks: bool = False
    """Whether it measures in children, which profit from what their parent has imported."""
    holds_gpu: bool = True
    """Whether it must have the GPU to itself."""
    needs_torch: bool = True

    @property
    def full_module(self) -> str:
        """Return the module's full name."""
        return f"{PACKAGE}.{self.module}"


TASKS = {
    task.job.task: task
    for task in (
        DeviceTask(PlatformJob, "platform", "run_platform", forks=True, holds_gpu=False),
        DeviceTask(CorrectnessJob, "correctness", "run_correctness", forks=True),
        DeviceTask(BenchmarkJob, "benchmark", "run_benchmark", forks=True),
        DeviceTask(ProgramRunsJob, "program_runs", "run_program", needs_torch=False),
        DeviceTask(OriginalRunsJob, "original_runs", "run_original", needs_torch=False),
        DeviceTask(ProfileJob, "profile", "run_profile"),
        DeviceTask(StopwatchJob, "nvbench", "run_stopwatch", forks=True),
        DeviceTask(CheatsJob, "cheats", "run_cheats", forks=True),
        DeviceTask(SanitizerJob, "sanitizer", "run_sanitizer"),
        DeviceTask(OperatorsJob, "operators", "run_operators", forks=True),
    )
}
