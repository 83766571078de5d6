"""Everything that is known of a run, by what it is evidence of. Pure."""

from dataclasses import dataclass, field

from assay.evidence.stages import build_path
from assay.records.builds import BuildRecord
from assay.records.cheats import CheatsRecord
from assay.records.file_compiles import FileCompileRecord
from assay.records.images import ImageRecord
from assay.records.inspections import DeviceCodeResult, InspectionResult
from assay.records.measurements import BenchmarkRecord, CorrectnessRecord, ProgramRecord
from assay.records.operators import OperatorsRecord
from assay.records.originals import OriginalRunRecord
from assay.records.plan import Plan
from assay.records.platform import PlatformRecord
from assay.records.profile import ProfileRecord
from assay.records.sanitizer import SanitizerRecord
from assay.records.slurm_jobs import SlurmJobsRecord
from assay.records.stopwatch import StopwatchRecord
from assay.records.timings import TimingsRecord

BuildKey = tuple[str, str]
"""(variant, program or probe id, arch)."""


@dataclass(frozen=True)
class RecordedBuild:
    """A compilation of the report that a target's figures come from, whose inputs are today's."""

    record: BuildRecord
    path: str
    """Where it lies in the evidence."""
    recorded_in: str
    """The report."""


@dataclass(frozen=True)
class Evidence:
    """Everything the judge may look at."""

    plan: Plan
    builds: dict[BuildKey, BuildRecord]
    platforms: dict[str, PlatformRecord]
    correctness: dict[tuple[str, str], CorrectnessRecord]
    benchmarks: dict[tuple[str, str], BenchmarkRecord]
    programs: dict[tuple[str, str], ProgramRecord]
    profiles: dict[tuple[str, str, str], ProfileRecord]
    inspections: dict[str, InspectionResult]
    toolchain_images: dict[str, ImageRecord] = field(default_factory=dict)
    """By target; empty where the host compiled."""
    runner_images: dict[str, ImageRecord] = field(default_factory=dict)
    """By target; empty where the host measured."""
    originals: dict[tuple[str, str], OriginalRunRecord] = field(default_factory=dict)
    """By target and program: the authors' own, from checkouts that the user had."""
    operators: dict[str, OperatorsRecord] = field(default_factory=dict)
    """By target. Told, never judged."""
    stopwatches: dict[tuple[str, str], StopwatchRecord] = field(default_factory=dict)
    """By target and comparison: other stopwatches on the same binaries. Never a judged time."""
    cheats: dict[str, CheatsRecord] = field(default_factory=dict)
    """By target: whether what guards the figures catches kernels that cheat."""
    sanitizers: dict[str, SanitizerRecord] = field(default_factory=dict)
    """By target."""
    timings: TimingsRecord | None = None
    """How long the steps took; None where nobody kept it. Told, never judged."""
    target_timings: dict[str, TimingsRecord] = field(default_factory=dict)
    """The same by target, of the run that measured what was taken over; absent where the report
    that it was taken from is from before timings came along."""
    device_code: dict[str, DeviceCodeResult] = field(default_factory=dict)
    """By claim: what optional packages hold, where somebody looked."""
    device_code_paths: dict[str, str] = field(default_factory=dict)
    """By claim: where that is recorded, if it came along with recorded figures."""
    recorded_builds: dict[BuildKey, RecordedBuild] = field(default_factory=dict)
    """What made the binaries of figures that were taken over; this run need not compile it."""
    target_builds: dict[str, dict[BuildKey, BuildRecord]] = field(default_factory=dict)
    """The same by target: several reports may each have compiled another binary of one key."""
    earlier_builds: dict[tuple[str, str], BuildRecord] = field(default_factory=dict)
    """By target and variant: what made measured binaries whose sources are others by now."""
    file_compiles: dict[tuple[str, str], FileCompileRecord] = field(default_factory=dict)
    """By file and architecture: sources' files, compiled as published."""
    file_compile_paths: dict[tuple[str, str], str] = field(default_factory=dict)
    """Where they lie: this run's own, else those that came along with recorded figures."""
    slurm_jobs: SlurmJobsRecord | None = None
    """What a cluster granted each job of the run; None where no scheduler placed any."""


def binaries_of(evidence: Evidence, artifact: str, arch: str) -> set[str]:
    """SHA-256 of what was compiled of a variant or program, here or for figures taken over."""
    recorded = evidence.recorded_builds.get((artifact, arch))
    builds = [evidence.builds.get((artifact, arch)), recorded.record if recorded else None]
    return {build.artifact.sha256 for build in builds if build and build.artifact}


def build_of(evidence: Evidence, artifact: str, arch: str) -> BuildRecord | None:
    """Return the record of a build: this run's own, else the one taken over."""
    return builds_of(evidence).get((artifact, arch))


def builds_of(evidence: Evidence) -> dict[BuildKey, BuildRecord]:
    """Return the record of every build: this run's own, else the one taken over.

    A record taken over stands before that of a run which had no compiler.
    """
    recorded = {key: found.record for key, found in evidence.recorded_builds.items()}
    compiled = {key: record for key, record in evidence.builds.items() if record.had_compiler}
    return evidence.builds | recorded | compiled


def build_record_path(evidence: Evidence, artifact: str, arch: str) -> str | None:
    """Return where the record of a build lies: this run's own, else the one taken over."""
    if (artifact, arch) in evidence.builds:
        return build_path(artifact, arch)
    recorded = evidence.recorded_builds.get((artifact, arch))
    return recorded.path if recorded else None
