"""The table of stages: what each leaves where, for which part of a plan, and what it needs. Pure.

To add a stage that measures: its name in ``records.timings.Stage``, its record, a line below, its
task on the device side, its step in ``pipeline.gpu_steps``, what it is made of in ``pipeline.dag``.

The layout is the same in ``results/<run>/`` and in ``<report>/evidence/``.
"""

from collections.abc import Iterable
from typing import Any

from assay.evidence.entries import Purpose, RunStage, TargetStage
from assay.evidence.outcomes import (
    failed_cheats,
    failed_operators,
    failed_profile,
    failed_sanitizer,
    failed_stopwatch,
)
from assay.records.builds import BuildRecord, InspectionsRecord
from assay.records.images import ImageRecord
from assay.records.measurements import BenchmarkRecord, CorrectnessRecord, ProgramRecord
from assay.records.originals import FileCompileRecord, OriginalRunRecord
from assay.records.plan import Plan, TargetPlan
from assay.records.platform import PlatformRecord
from assay.records.rivals import OperatorsRecord
from assay.records.side_evidence import (
    CheatsRecord,
    ProfileRecord,
    SanitizerRecord,
    StopwatchRecord,
)
from assay.records.timings import Stage

build_path = "builds/{1}/{0}.json".format
"""Of an artifact and an architecture."""
file_compile_path = "compiled_files/{1}/{0}.json".format
"""Of a source's file, compiled as published, and an architecture."""
earlier_path = "earlier/{}".format
"""The folder of a report that is taken over whole, of its name."""
origin_folder = "{}/origin".format
"""In reports of earlier versions: records of the run that measured a target, which were copied."""
platform_path = "{}/platform.json".format
toolchain_image_path = "images/{}.json".format
"""What the builds were compiled in."""
runner_image_path = "{}/image.json".format
"""What the target was measured in."""
correctness_path = "{}/correctness/{}.json".format
"""Of a target and a comparison."""
benchmark_path = "{}/benchmark/{}.json.gz".format
program_path = "{}/program/{}.json.gz".format
"""Of a target and a program's list of arguments."""
original_path = "{}/original/{}.json.gz".format
profile_path = "{}/profile/{}.{}.json.gz".format
"""Of a target, a comparison and an arm."""
stopwatch_path = "{}/stopwatch/{}.json".format
cheats_path = "{}/cheats.json".format
sanitizer_path = "{}/sanitizer.json".format
operators_path = "{}/operators.json".format
plan_path, pipeline_path = "plan.json".format, "pipeline.json".format
inspections_path, timings_path = "inspections.json".format, "timings.json".format
slurm_jobs_path = "slurm_jobs.json".format
"""The jobs of a cluster that the run consisted of."""


def nested_name(within: str) -> str:
    """Return the name of the report that is nested below the evidence, from a folder in it."""
    return within.split("/")[1]


def nested_reports(plans: Iterable[TargetPlan]) -> list[str]:
    """Return the names of the reports that lie below ``earlier``, of which targets are read."""
    within = (plan.provision.within for plan in plans)
    return list(dict.fromkeys(nested_name(folder) for folder in within if folder))


TOOLCHAIN_IMAGES: RunStage[str, ImageRecord] = RunStage(
    Stage.TOOLCHAIN_IMAGE, ImageRecord, toolchain_image_path, lambda plan: plan.toolchains
)
INSPECTIONS: RunStage[tuple[str, ...], InspectionsRecord] = RunStage(
    Stage.INSPECT,
    InspectionsRecord,
    inspections_path,
    lambda plan: [] if plan.judges_only else [()],
)
BUILDS: RunStage[tuple[str, str], BuildRecord] = RunStage(
    Stage.BUILD, BuildRecord, build_path, lambda plan: [(job.id, job.arch) for job in plan.builds]
)
FILE_COMPILES: RunStage[tuple[str, str], FileCompileRecord] = RunStage(
    Stage.FILE_COMPILE,
    FileCompileRecord,
    file_compile_path,
    lambda plan: [job.key for job in plan.compilations],
)

RUNNER_IMAGES: TargetStage[str, ImageRecord] = TargetStage(
    Stage.RUNNER_IMAGE, ImageRecord, runner_image_path, "runner_images", Purpose.MACHINE,
    field="runner",
)  # fmt: skip
PLATFORMS: TargetStage[str, PlatformRecord] = TargetStage(
    Stage.PLATFORM, PlatformRecord, platform_path, "platforms", Purpose.MACHINE, task="device",
)  # fmt: skip
CORRECTNESS: TargetStage[tuple[str, str], CorrectnessRecord] = TargetStage(
    Stage.CORRECTNESS, CorrectnessRecord, correctness_path, "correctness", Purpose.GATE,
    task="correctness", field="comparisons", each=lambda name: (name,), of_comparison=True,
)  # fmt: skip
BENCHMARKS: TargetStage[tuple[str, str], BenchmarkRecord] = TargetStage(
    Stage.BENCHMARK, BenchmarkRecord, benchmark_path, "benchmarks", Purpose.FIGURES,
    task="benchmark", field="comparisons", each=lambda name: (name,), of_comparison=True,
)  # fmt: skip
PROGRAMS: TargetStage[tuple[str, str], ProgramRecord] = TargetStage(
    Stage.PROGRAM, ProgramRecord, program_path, "programs", Purpose.FIGURES,
    task="program", field="programs", each=lambda job: (job.id,),
)  # fmt: skip
ORIGINALS: TargetStage[tuple[str, str], OriginalRunRecord] = TargetStage(
    Stage.ORIGINAL, OriginalRunRecord, original_path, "originals", Purpose.FIGURES,
    task="original_run", field="originals", each=lambda job: (job.original,),
)  # fmt: skip
PROFILES: TargetStage[tuple[str, str, str], ProfileRecord] = TargetStage(
    Stage.PROFILE, ProfileRecord, profile_path, "profiles", Purpose.BESIDE,
    task="profile", field="profiles", each=lambda pair: pair, of_comparison=True,
    failed=failed_profile,
)  # fmt: skip
STOPWATCHES: TargetStage[tuple[str, str], StopwatchRecord] = TargetStage(
    Stage.STOPWATCH, StopwatchRecord, stopwatch_path, "stopwatches", Purpose.BESIDE,
    task="stopwatch", field="stopwatches", each=lambda name: (name,), of_comparison=True,
    failed=failed_stopwatch,
)  # fmt: skip
CHEATS: TargetStage[str, CheatsRecord] = TargetStage(
    Stage.CHEATS, CheatsRecord, cheats_path, "cheats", Purpose.BESIDE,
    task="cheats", field="cheats", failed=failed_cheats,
)  # fmt: skip
SANITIZERS: TargetStage[str, SanitizerRecord] = TargetStage(
    Stage.SANITIZER, SanitizerRecord, sanitizer_path, "sanitizers", Purpose.BESIDE,
    task="sanitize", field="sanitized", failed=failed_sanitizer,
)  # fmt: skip
OPERATORS: TargetStage[str, OperatorsRecord] = TargetStage(
    Stage.OPERATORS, OperatorsRecord, operators_path, "operators", Purpose.BESIDE,
    task="operators", field="operators", failed=failed_operators,
)  # fmt: skip

RUN_STAGES: tuple[RunStage[Any, Any], ...] = (
    TOOLCHAIN_IMAGES, INSPECTIONS, BUILDS, FILE_COMPILES,
)  # fmt: skip
"""Stages that leave evidence of the run as a whole."""
TARGET_STAGES: tuple[TargetStage[Any, Any], ...] = (
    RUNNER_IMAGES, PLATFORMS, CORRECTNESS, BENCHMARKS, PROGRAMS, ORIGINALS, PROFILES, STOPWATCHES,
    CHEATS, SANITIZERS, OPERATORS,
)  # fmt: skip
"""Stages that leave evidence of each target."""
IN_ORDER = (
    RUNNER_IMAGES, PLATFORMS, PROGRAMS, ORIGINALS, CORRECTNESS, BENCHMARKS, STOPWATCHES, PROFILES,
    CHEATS, SANITIZERS, OPERATORS,
)  # fmt: skip
"""The same in the order in which they are done."""
FINISHING = (Stage.REPORT, Stage.SIGN, Stage.VERIFY)
"""Stages that come after the evidence: no report can say how long its own making took."""


def of_purpose(*purposes: Purpose) -> list[TargetStage[Any, Any]]:
    """Return the stages whose records are for one of ``purposes``."""
    return [entry for entry in TARGET_STAGES if entry.purpose in purposes]


def run_files(plan: Plan) -> list[str]:
    """Return every record of the run as a whole that a plan calls for, beside the plan itself."""
    return [path for entry in RUN_STAGES for path in entry.paths(plan).values()]


def target_paths(plan: TargetPlan) -> list[str]:
    """Return every record path that the plan of one target calls for."""
    return [path for entry in TARGET_STAGES for path in entry.paths(plan).values()]


def as_held(plan: TargetPlan, held: TargetPlan) -> TargetPlan:
    """Return the plan of one target, calling for what ``held`` calls for, too, and no more."""
    kept: dict[str, Any] = {}
    for field in (entry.field for entry in TARGET_STAGES if entry.field is not None):
        wanted, there = getattr(plan, field), getattr(held, field)
        both = wanted and there
        kept[field] = both if both in (True, False) else tuple(e for e in wanted if e in there)
    return plan.model_copy(update=kept)
