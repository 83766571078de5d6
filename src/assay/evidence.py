"""The evidence of a run: all records below one directory, by what they are evidence of.

The layout is the same in ``results/<run>/`` and in ``<report>/evidence/``; paths in ``paths`` are
relative to the directory, so that a verdict can name its evidence.
"""

from dataclasses import dataclass, field
from pathlib import Path

from assay.io import read_record
from assay.records.builds import BuildRecord
from assay.records.images import ImageRecord
from assay.records.measurements import (
    BenchmarkRecord,
    CheatsRecord,
    CorrectnessRecord,
    Inspection,
    InspectionsRecord,
    ProfileRecord,
    ProgramRecord,
    StopwatchRecord,
)
from assay.records.operators import OperatorsRecord
from assay.records.plan import Plan, TargetPlan
from assay.records.platform import PlatformRecord
from assay.records.sanitizer import SanitizerRecord
from assay.records.timings import TimingsRecord

BuildKey = tuple[str, str]
"""(variant, program or probe id, arch)."""


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
    inspections: dict[str, Inspection]
    toolchain_images: dict[str, ImageRecord] = field(default_factory=dict)
    """By target; empty where the host compiled."""
    runner_images: dict[str, ImageRecord] = field(default_factory=dict)
    """By target; empty where the host measured."""
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


def binaries_of(evidence: Evidence, artifact: str, arch: str) -> set[str]:
    """SHA-256 of what was compiled of a variant or program; empty where nothing was."""
    build = evidence.builds.get((artifact, arch))
    return {build.artifact.sha256} if build is not None and build.artifact is not None else set()


def plan_path() -> str:
    """plan.json."""
    return "plan.json"


def pipeline_path() -> str:
    """pipeline.json."""
    return "pipeline.json"


def inspections_path() -> str:
    """inspections.json."""
    return "inspections.json"


def timings_path() -> str:
    """timings.json."""
    return "timings.json"


def build_path(artifact: str, arch: str) -> str:
    """builds/<arch>/<id>.json."""
    return f"builds/{arch}/{artifact}.json"


def platform_path(target: str) -> str:
    """<target>/platform.json."""
    return f"{target}/platform.json"


def toolchain_image_path(target: str) -> str:
    """images/<target>.json: what the builds were compiled in."""
    return f"images/{target}.json"


def runner_image_path(target: str) -> str:
    """<target>/image.json: what the target was measured in."""
    return f"{target}/image.json"


def sbom_path(image: str) -> str:
    """The bill of materials beside an image's record."""
    return f"{image.removesuffix('.json')}.cdx.json"


def correctness_path(target: str, comparison: str) -> str:
    """<target>/correctness/<comparison>.json."""
    return f"{target}/correctness/{comparison}.json"


def benchmark_path(target: str, comparison: str) -> str:
    """<target>/benchmark/<comparison>.json.gz."""
    return f"{target}/benchmark/{comparison}.json.gz"


def program_path(target: str, job: str) -> str:
    """<target>/program/<job>.json.gz."""
    return f"{target}/program/{job}.json.gz"


def profile_path(target: str, comparison: str, arm: str) -> str:
    """<target>/profile/<comparison>.<arm>.json.gz."""
    return f"{target}/profile/{comparison}.{arm}.json.gz"


def stopwatch_path(target: str, comparison: str) -> str:
    """<target>/stopwatch/<comparison>.json."""
    return f"{target}/stopwatch/{comparison}.json"


def cheats_path(target: str) -> str:
    """<target>/cheats.json."""
    return f"{target}/cheats.json"


def sanitizer_path(target: str) -> str:
    """<target>/sanitizer.json."""
    return f"{target}/sanitizer.json"


def operators_path(target: str) -> str:
    """<target>/operators.json."""
    return f"{target}/operators.json"


def target_paths(plan: TargetPlan) -> list[str]:
    """Every record path that the plan of one target calls for."""
    target = plan.target
    paths = [platform_path(target)]
    if plan.runner:
        paths += [runner_image_path(target), sbom_path(runner_image_path(target))]
    for comparison in plan.comparisons:
        paths += [correctness_path(target, comparison), benchmark_path(target, comparison)]
    paths += [program_path(target, job.id) for job in plan.programs]
    paths += [profile_path(target, comparison, arm) for comparison, arm in plan.profiles]
    paths += [stopwatch_path(target, comparison) for comparison in plan.stopwatches]
    if plan.cheats:
        paths.append(cheats_path(target))
    if plan.sanitized:
        paths.append(sanitizer_path(target))
    if plan.operators:
        paths.append(operators_path(target))
    return paths


BATCHES = ("correctness", "benchmark", "program", "profile", "stopwatch")
"""Stages of which one step of the workflow measures all records of a target: a folder each."""


def target_outputs(plan: TargetPlan) -> list[str]:
    """As target_paths, by what the workflow's steps write."""
    outputs = [step_output(plan.target, path) for path in target_paths(plan)]
    return list(dict.fromkeys(outputs))


def step_output(target: str, path: str) -> str:
    """What the step writes that writes the record ``path``: for a batch's file its folder."""
    folders = [f"{target}/{stage}" for stage in BATCHES]
    return next((folder for folder in folders if path.startswith(f"{folder}/")), path)


def load_evidence(directory: Path) -> Evidence:
    """Read the records that the plan below ``directory`` calls for; absent ones are left out.

    A missing plan or a malformed record raises BadInput. A measurement that the plan calls for
    and that is not there stays absent: the judge turns that into ``not_run``.
    """
    plan = read_record(Plan, directory / plan_path())
    builds: dict[BuildKey, BuildRecord] = {}
    for job in plan.builds:
        path = directory / build_path(job.id, job.arch)
        if path.is_file():
            builds[job.id, job.arch] = read_record(BuildRecord, path)
    platforms: dict[str, PlatformRecord] = {}
    correctness: dict[tuple[str, str], CorrectnessRecord] = {}
    benchmarks: dict[tuple[str, str], BenchmarkRecord] = {}
    programs: dict[tuple[str, str], ProgramRecord] = {}
    profiles: dict[tuple[str, str, str], ProfileRecord] = {}
    for target_plan in plan.targets:
        target = target_plan.target
        if (path := directory / platform_path(target)).is_file():
            platforms[target] = read_record(PlatformRecord, path)
        for comparison in target_plan.comparisons:
            if (path := directory / correctness_path(target, comparison)).is_file():
                correctness[target, comparison] = read_record(CorrectnessRecord, path)
            if (path := directory / benchmark_path(target, comparison)).is_file():
                benchmarks[target, comparison] = read_record(BenchmarkRecord, path)
        for program in target_plan.programs:
            if (path := directory / program_path(target, program.id)).is_file():
                programs[target, program.id] = read_record(ProgramRecord, path)
        for comparison, arm in target_plan.profiles:
            if (path := directory / profile_path(target, comparison, arm)).is_file():
                profiles[target, comparison, arm] = read_record(ProfileRecord, path)
    toolchain_images = _images(directory, {t: toolchain_image_path(t) for t in plan.toolchains})
    runner_images = _images(
        directory, {t.target: runner_image_path(t.target) for t in plan.targets if t.runner}
    )
    inspections: dict[str, Inspection] = {}
    if (path := directory / inspections_path()).is_file():
        record = read_record(InspectionsRecord, path)
        inspections = {entry.claim: entry for entry in record.inspections}
    return Evidence(
        plan=plan,
        builds=builds,
        platforms=platforms,
        correctness=correctness,
        benchmarks=benchmarks,
        programs=programs,
        profiles=profiles,
        inspections=inspections,
        toolchain_images=toolchain_images,
        runner_images=runner_images,
        operators=_operators(directory, plan),
        stopwatches=_stopwatches(directory, plan),
        cheats=_cheats(directory, plan),
        sanitizers=_sanitizers(directory, plan),
        timings=_timings(directory),
    )


def _operators(directory: Path, plan: Plan) -> dict[str, OperatorsRecord]:
    paths = {t.target: directory / operators_path(t.target) for t in plan.targets if t.operators}
    return {t: read_record(OperatorsRecord, path) for t, path in paths.items() if path.is_file()}


def _stopwatches(directory: Path, plan: Plan) -> dict[tuple[str, str], StopwatchRecord]:
    paths = {
        (t.target, name): directory / stopwatch_path(t.target, name)
        for t in plan.targets
        for name in t.stopwatches
    }
    return {k: read_record(StopwatchRecord, path) for k, path in paths.items() if path.is_file()}


def _cheats(directory: Path, plan: Plan) -> dict[str, CheatsRecord]:
    paths = {t.target: directory / cheats_path(t.target) for t in plan.targets if t.cheats}
    return {t: read_record(CheatsRecord, path) for t, path in paths.items() if path.is_file()}


def _sanitizers(directory: Path, plan: Plan) -> dict[str, SanitizerRecord]:
    paths = {t.target: directory / sanitizer_path(t.target) for t in plan.targets if t.sanitized}
    return {t: read_record(SanitizerRecord, path) for t, path in paths.items() if path.is_file()}


def _timings(directory: Path) -> TimingsRecord | None:
    path = directory / timings_path()
    return read_record(TimingsRecord, path) if path.is_file() else None


def _images(directory: Path, paths: dict[str, str]) -> dict[str, ImageRecord]:
    return {
        target: read_record(ImageRecord, directory / path)
        for target, path in paths.items()
        if (directory / path).is_file()
    }
