"""The plan's jobs of the device side: what only readers need is left out, so that it may change."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.base.errors import CheckFailed
from assay.catalog.model import Catalog
from assay.judging.needs import evaluations_of, terms_of
from assay.measuring.device_process import run_device_job
from assay.measuring.operator_kernels import Builds, told_to_device
from assay.records.builds import BuildRecord
from assay.records.measurements import BenchmarkRecord, CorrectnessRecord
from assay.records.originals import OriginalJob, OriginalSource
from assay.records.plan import ProgramJob
from assay.records.platform import Device, Target
from assay.records.workloads import as_spec, workload_spec
from assay.runtimes.base import Place
from assay.shared import job as jobs
from assay.shared.specs import ArmSpec, ComparisonSpec, ProtocolSpec, TargetSpec, VariantSpec

PROGRAM_TIMEOUT_S = 300.0
"""An example that has not ended by then hangs: the longest takes under 30 s on an H100."""

ORIGINAL_BUILD_S = 1800.0
"""A stranger's build that has not ended by then hangs, or is none of one program."""
ORIGINAL_RUN_S = 600.0
"""Of one run of a program that nobody here knows."""


def probe_device(place: Place, target: Target, *, echo: bool = False) -> Device:
    """Ask the device side for its GPU. Raises MissingEnvironment when it is not ``target``."""
    return run_device_job(place, jobs.PlatformJob(as_spec(TargetSpec, target)), Device, echo=echo)


def arm_spec(catalog: Catalog, name: str, variant: str, workload: str, builds: Builds) -> ArmSpec:
    """Return an arm with its artifact, if built. Raises CheckFailed for another binary."""
    build, path = builds.get(variant, (None, None))
    compiled = build is not None and build.artifact is not None
    return ArmSpec(
        name,
        as_spec(VariantSpec, catalog.variants[variant]),
        workload_spec(catalog.workloads[workload]),
        told_to_device(build, path) if compiled and build and path else None,
    )


def comparison_spec(catalog: Catalog, name: str, builds: Builds) -> ComparisonSpec:
    """Return a comparison with all that its arms need; raises as ``arm_spec``."""
    comparison = catalog.comparisons[name]
    return ComparisonSpec(
        comparison.id,
        comparison.control,
        tuple(
            arm_spec(catalog, arm.id, arm.variant, arm.workload, builds) for arm in comparison.arms
        ),
    )


def correctness_job(
    catalog: Catalog, target: str, comparison: str, builds: Builds
) -> jobs.CorrectnessJob:
    """Return the job that checks every arm. Raises as ``arm_spec``, as every job with arms does."""
    return jobs.CorrectnessJob(
        as_spec(TargetSpec, catalog.targets[target]),
        comparison_spec(catalog, comparison, builds),
        seeds=catalog.judging.correctness_seeds,
    )


def benchmark_job(
    catalog: Catalog, target: str, comparison: str, builds: Builds, gate: CorrectnessRecord
) -> jobs.BenchmarkJob:
    """Return the first look at what passed the gate. Raises CheckFailed where that saw other
    binaries.
    """
    for arm in gate.arms:
        build = builds[arm.variant][0] if arm.variant in builds else None
        digest = build.artifact.sha256 if build and build.artifact else None
        if arm.status == "correct" and arm.binary_sha256 != digest:
            raise CheckFailed(f"{comparison}: the gate checked another binary of {arm.variant}")
    protocol = catalog.protocols[catalog.comparisons[comparison].protocol]
    wrong = {arm.arm: f"{arm.status}: {arm.detail}" for arm in gate.arms if arm.status != "correct"}
    right = [arm.arm for arm in gate.arms if arm.status == "correct"]
    if wrong and len(right) == 1 and not _asked_alone(catalog, comparison, right[0]):
        wrong[right.pop()] = "nothing is left that it would be compared with"
    return jobs.BenchmarkJob(
        as_spec(TargetSpec, catalog.targets[target]),
        comparison_spec(catalog, comparison, builds),
        as_spec(ProtocolSpec, protocol),
        first=0,
        processes=protocol.looks[0],
        timed=tuple(right),
        not_timed=wrong,
    )


def _asked_alone(catalog: Catalog, comparison: str, arm: str) -> bool:
    """Return whether a claim, under some reading, asks for an arm's own time or rate."""
    return any(
        (term.comparison, term.arm, term.over) == (comparison, arm, None)
        for claim in catalog.claims.values()
        for evaluation in evaluations_of(claim)
        for term in terms_of(evaluation)
    )


def further_job(
    job: jobs.DeviceJob, measured: BenchmarkRecord, processes: int
) -> jobs.BenchmarkJob:
    """Return the job that times what is left, in up to ``processes``, by the same timer."""
    assert isinstance(job, jobs.BenchmarkJob)
    return replace(
        job,
        protocol=replace(job.protocol, timer=measured.processes[0].timer),
        first=len(measured.processes),
        processes=processes,
        timed=tuple(arm for arm in job.timed if arm not in measured.not_timed),
        not_timed=dict(measured.not_timed),
    )


def program_job(
    catalog: Catalog, target: str, job: ProgramJob, build: BuildRecord, artifact: Path
) -> jobs.ProgramRunsJob:
    """Return the job that runs an original program; where it checks its output only when told to,
    it is told so in one run more, which is not timed.
    """
    return jobs.ProgramRunsJob(
        as_spec(TargetSpec, catalog.targets[target]),
        job.program,
        told_to_device(build, artifact),
        arguments=tuple(job.arguments),
        runs=catalog.judging.program_runs,
        timeout_s=PROGRAM_TIMEOUT_S,
        verify=catalog.programs[job.program].verified_by(job.arguments),
    )


def original_job(
    catalog: Catalog, target: str, job: OriginalJob, described: OriginalSource, copy: Path
) -> jobs.OriginalRunsJob:
    """Return the job that builds and runs a source's own program in ``copy``, of a checkout."""
    return jobs.OriginalRunsJob(
        as_spec(TargetSpec, catalog.targets[target]),
        source=job.source,
        original=job.original,
        directory=str(copy.resolve()),
        working=described.directory,
        file=described.file,
        checkout=job.checkout.model_dump(mode="json"),
        build=job.build.line if job.build else None,
        build_by=job.build.by if job.build else None,
        run=job.run.line,
        run_by=job.run.by,
        typed=job.typed.line if job.typed else None,
        image=described.image,
        runs=catalog.judging.program_runs,
        build_timeout_s=ORIGINAL_BUILD_S,
        run_timeout_s=ORIGINAL_RUN_S,
    )


def profile_job(
    catalog: Catalog, target: str, comparison: str, arm: str, builds: Builds
) -> jobs.ProfileJob:
    """Return the job that launches one arm once between cudaProfilerStart and Stop."""
    return jobs.ProfileJob(
        as_spec(TargetSpec, catalog.targets[target]),
        comparison_spec(catalog, comparison, builds),
        arm,
    )


def stopwatch_job(
    catalog: Catalog, target: str, comparison: str, builds: Builds, gate: CorrectnessRecord
) -> jobs.StopwatchJob:
    """Return the job that times the profiled arms that passed the gate with another stopwatch."""
    correct = {arm.arm for arm in gate.arms if arm.status == "correct"}
    return jobs.StopwatchJob(
        as_spec(TargetSpec, catalog.targets[target]),
        comparison_spec(catalog, comparison, builds),
        timed=tuple(arm for arm in catalog.comparisons[comparison].profile if arm in correct),
    )


def sanitizer_job(
    catalog: Catalog, target: str, comparisons: Sequence[str], builds: Builds
) -> jobs.SanitizerJob:
    """Return the job that sanitizes every compiled variant, at its first problem's small shapes."""
    problems: dict[str, str] = {}
    for name in comparisons:
        for arm in catalog.comparisons[name].arms:
            problems.setdefault(arm.variant, arm.workload)
    compiled = [name for name, (build, _) in builds.items() if name in problems and build.artifact]
    return jobs.SanitizerJob(
        as_spec(TargetSpec, catalog.targets[target]),
        tuple(arm_spec(catalog, name, name, problems[name], builds) for name in compiled),
    )
