"""Everything that is known of a run, by what it is evidence of. Pure."""

from dataclasses import dataclass, field

from assay.evidence.stages import build_path, run_path
from assay.records import side_evidence
from assay.records.builds import BuildRecord, DeviceCodeResult, InspectionResult
from assay.records.images import ImageRecord
from assay.records.measurements import BenchmarkRecord, CorrectnessRecord, ProgramRecord
from assay.records.originals import FileCompileRecord, OriginalRunRecord
from assay.records.plan import Plan, TargetPlan
from assay.records.platform import PlatformRecord
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
    profiles: dict[tuple[str, str, str], side_evidence.ProfileRecord]
    inspections: dict[str, InspectionResult]
    toolchain_images: dict[str, ImageRecord] = field(default_factory=dict)
    """By target; empty where the host compiled."""
    runner_images: dict[str, ImageRecord] = field(default_factory=dict)
    """By target; empty where the host measured."""
    originals: dict[tuple[str, str], OriginalRunRecord] = field(default_factory=dict)
    """By target and program: the authors' own, from checkouts that the user had."""
    stopwatches: dict[tuple[str, str], side_evidence.StopwatchRecord] = field(default_factory=dict)
    """By target and comparison: other stopwatches on the same binaries. Never a judged time."""
    cheats: dict[str, side_evidence.CheatsRecord] = field(default_factory=dict)
    """By target: whether what guards the figures catches kernels that cheat."""
    sanitizers: dict[str, side_evidence.SanitizerRecord] = field(default_factory=dict)
    """By target."""
    timings: TimingsRecord | None = None
    """How long the steps took; None where nobody kept it. Told, never judged."""
    device_code: dict[str, DeviceCodeResult] = field(default_factory=dict)
    """By claim: what optional packages hold, where somebody looked."""
    inspection_paths: dict[str, str] = field(default_factory=dict)
    """By claim: where it is recorded what packages hold; absent where nobody looked."""
    recorded_builds: dict[BuildKey, RecordedBuild] = field(default_factory=dict)
    """What today's sources would make again, of the reports that figures are taken from."""
    target_builds: dict[str, dict[BuildKey, BuildRecord]] = field(default_factory=dict)
    """By target, all that the run compiled that measured it, from whatever sources."""
    file_compiles: dict[tuple[str, str], FileCompileRecord] = field(default_factory=dict)
    """By file and architecture: sources' files, compiled as published."""
    file_compile_paths: dict[tuple[str, str], str] = field(default_factory=dict)
    """Where they lie: this run's own, else those that came along with recorded figures."""
    project_code: dict[str, bytes] = field(default_factory=dict)
    """A project's files of Python, by name."""

    def place(self, path: str) -> str:
        """Return where a record lies in a report, from its path in the run that measured it."""
        target = path.partition("/")[0]
        of = next((each for each in self.plan.targets if each.target == target), None)
        return f"evidence/{path if of is None else run_path(of, path)}"

    def made_for(self, plan: TargetPlan) -> dict[BuildKey, BuildRecord]:
        """Return the records of what made a target's binaries."""
        if plan.provision.kind == "device":
            return self.builds
        return self.target_builds.get(plan.target, {})


def binaries_of(evidence: Evidence, artifact: str, arch: str) -> set[str]:
    """SHA-256 of what was compiled of a variant or program, here or for figures taken over."""
    recorded = evidence.recorded_builds.get((artifact, arch))
    builds = [evidence.builds.get((artifact, arch)), recorded.record if recorded else None]
    return {build.artifact.sha256 for build in builds if build and build.artifact}


def build_of(evidence: Evidence, artifact: str, arch: str) -> BuildRecord | None:
    """Return the record of a build: this run's own, else the one taken over."""
    return builds_of(evidence).get((artifact, arch))


def builds_of(evidence: Evidence) -> dict[BuildKey, BuildRecord]:
    """Return the record of every build: this run's own, else the one taken over."""
    own, taken_over = evidence.builds, evidence.recorded_builds.items()
    return own | {key: found.record for key, found in taken_over if key not in own}


def build_record_path(evidence: Evidence, artifact: str, arch: str) -> str | None:
    """Return where the record of a build lies: this run's own, else the one taken over."""
    if (artifact, arch) in evidence.builds:
        return build_path(artifact, arch)
    recorded = evidence.recorded_builds.get((artifact, arch))
    return recorded.path if recorded else None
