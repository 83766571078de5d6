"""The plan's jobs of the device side: what only readers need is left out, so that it may change."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    arms = (arm_spec(catalog, a.id, a.variant, a.workload, builds) for a in comparison.arms)
    return ComparisonSpec(comparison.id, comparison.control, tuple(arms))


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


@dataclass(frozen=True)
class TargetJobs:
    """The jobs of one target; all with arms raise as ``arm_spec``."""

    catalog: Catalog
    target: str

    @property
    def spec(self) -> TargetSpec:
        """Return the target as the device side is told of it."""
        return as_spec(TargetSpec, self.catalog.targets[self.target])

    def correctness(self, comparison: str, builds: Builds) -> jobs.CorrectnessJob:
        """Return the job that checks every arm."""
        arms = comparison_spec(self.catalog, comparison, builds)
        return jobs.CorrectnessJob(self.spec, arms, seeds=self.catalog.judging.correctness_seeds)

    def benchmark(
        self, comparison: str, builds: Builds, gate: CorrectnessRecord
    ) -> jobs.BenchmarkJob:
        """Return the first look at what passed; CheckFailed if the gate saw other binaries."""
        for arm in gate.arms:
            build = builds[arm.variant][0] if arm.variant in builds else None
            digest = build.artifact.sha256 if build and build.artifact else None
            if arm.status == "correct" and arm.binary_sha256 != digest:
                raise CheckFailed(f"{comparison}: the gate checked another binary of {arm.variant}")
        protocol = self.catalog.protocols[self.catalog.comparisons[comparison].protocol]
        right = [arm.arm for arm in gate.arms if arm.status == "correct"]
        wrong = {a.arm: f"{a.status}: {a.detail}" for a in gate.arms if a.status != "correct"}
        if wrong and len(right) == 1 and not self._asks_for(comparison, right[0]):
            wrong[right.pop()] = "nothing is left that it would be compared with"
        return jobs.BenchmarkJob(
            self.spec,
            comparison_spec(self.catalog, comparison, builds),
            as_spec(ProtocolSpec, protocol),
            first=0,
            processes=protocol.looks[0],
            timed=tuple(right),
            not_timed=wrong,
        )

    def _asks_for(self, comparison: str, arm: str) -> bool:
        """Return whether a claim, under some reading, asks for an arm's own time or rate."""
        return any(
            (term.comparison, term.arm, term.over) == (comparison, arm, None)
            for claim in self.catalog.claims.values()
            for evaluation in evaluations_of(claim)
            for term in terms_of(evaluation)
        )

    def program(self, job: ProgramJob, build: BuildRecord, artifact: Path) -> jobs.ProgramRunsJob:
        """Return the job that runs an original program; where it checks its output only when told
        to, it is told so in one run more, which is not timed.
        """
        return jobs.ProgramRunsJob(
            self.spec,
            job.program,
            told_to_device(build, artifact),
            arguments=tuple(job.arguments),
            runs=self.catalog.judging.program_runs,
            timeout_s=PROGRAM_TIMEOUT_S,
            verify=self.catalog.programs[job.program].verified_by(job.arguments),
        )

    def original(
        self, job: OriginalJob, described: OriginalSource, copy: Path
    ) -> jobs.OriginalRunsJob:
        """Return the job that builds and runs a source's own program in ``copy``, of a checkout."""
        return jobs.OriginalRunsJob(
            self.spec,
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
            runs=self.catalog.judging.program_runs,
            build_timeout_s=ORIGINAL_BUILD_S,
            run_timeout_s=ORIGINAL_RUN_S,
        )

    def profile(self, comparison: str, arm: str, builds: Builds) -> jobs.ProfileJob:
        """Return the job that launches one arm once between cudaProfilerStart and Stop."""
        return jobs.ProfileJob(self.spec, comparison_spec(self.catalog, comparison, builds), arm)

    def stopwatch(
        self, comparison: str, builds: Builds, gate: CorrectnessRecord
    ) -> jobs.StopwatchJob:
        """Return the job that times the profiled arms that passed the gate by another stopwatch."""
        correct = {arm.arm for arm in gate.arms if arm.status == "correct"}
        profiled = self.catalog.comparisons[comparison].profile
        arms = comparison_spec(self.catalog, comparison, builds)
        return jobs.StopwatchJob(self.spec, arms, timed=tuple(a for a in profiled if a in correct))

    def sanitizer(self, comparisons: Sequence[str], builds: Builds) -> jobs.SanitizerJob:
        """Return the job that sanitizes each compiled variant, small, on its first problem here."""
        first: dict[str, str] = {}
        for arm in (arm for name in comparisons for arm in self.catalog.comparisons[name].arms):
            first.setdefault(arm.variant, arm.workload)
        compiled = [name for name, (build, _) in builds.items() if name in first and build.artifact]
        arms = (arm_spec(self.catalog, name, name, first[name], builds) for name in compiled)
        return jobs.SanitizerJob(self.spec, tuple(arms))
