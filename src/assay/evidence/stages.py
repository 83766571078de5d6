"""The table of stages: what each leaves where, for which part of a plan, and what it needs. Pure.

To add a stage that measures: its name in ``records.timings.Stage``, its record, a line below, its
task on the device side, its step in ``pipeline.gpu_steps``, what it is made of in ``pipeline.dag``.

The layout is the same in ``results/<run>/`` and in ``<report>/evidence/``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

from assay.evidence import outcomes
from assay.records import side_evidence
from assay.records.base import Record
from assay.records.builds import BuildRecord, InspectionsRecord
from assay.records.images import ImageRecord
from assay.records.measurements import BenchmarkRecord, CorrectnessRecord, ProgramRecord
from assay.records.originals import FileCompileRecord, OriginalRunRecord
from assay.records.plan import Plan, TargetPlan
from assay.records.platform import PlatformRecord
from assay.records.timings import Stage

K = TypeVar("K", bound=str | tuple[str, ...])
R = TypeVar("R", bound=Record)


class Purpose(StrEnum):
    """The purpose of a stage's records."""

    MACHINE = "machine"
    """They say what was measured on."""
    GATE = "gate"
    """No figure without them."""
    FIGURES = "figures"
    """Verdicts rest on them."""
    BESIDE = "beside"
    """Told beside the figures: no verdict rests on them, and their failure is a record too."""


@dataclass(frozen=True)
class RunStage(Generic[K, R]):
    """A stage whose records belong to the run: they need no GPU and name no target's figures."""

    stage: Stage
    record: type[R]
    path: Callable[..., str]
    """From the parts of a key."""
    keys: Callable[[Plan], Iterable[K]]
    """What a plan calls for; the empty key stands for the run itself."""

    def paths(self, plan: Plan) -> dict[K, str]:
        """Return where the records lie that a plan calls for."""
        return {key: self.path(*_parts(key)) for key in self.keys(plan)}


@dataclass(frozen=True)
class TargetStage(Generic[K, R]):
    """A stage whose records belong to a target. One step makes all of a target's."""

    stage: Stage
    record: type[R]
    path: Callable[..., str]
    """From the parts of a key: the target, then what the record is of."""
    collection: str
    """The field of ``Evidence`` that holds the records by their keys."""
    purpose: Purpose
    task: str | None = None
    """The device side's, which has a GPU; making the image of a runner is none of its."""
    field: str | None = None
    """The field of ``TargetPlan`` that calls for records; None where every target has one."""
    each: Callable[[Any], tuple[str, ...]] | None = None
    """Of a batch: the rest of a record's key, from an entry of the field. None: a lone record."""
    of_comparison: bool = False
    """Whether a record is of a comparison, whose id follows the target in its key."""
    failed: outcomes.FailedForm[R] | None = None
    """The record of a measurement that came to nothing."""

    def keys(self, plan: TargetPlan) -> list[K]:
        """Return what the plan of one target calls for."""
        if self.stage is Stage.BENCHMARK and not plan.timed:
            return []  # programs that run there check themselves
        wanted: Any = True if self.field is None else getattr(plan, self.field)
        keys: list[Any] = [plan.target] if wanted else []
        if self.each is not None:
            keys = [(plan.target, *self.each(entry)) for entry in wanted]
        return keys

    def paths(self, *plans: TargetPlan) -> dict[K, str]:
        """Return where the records lie that the plans of targets call for."""
        return {
            key: run_path(plan, self.path(*_parts(key)))
            for plan in plans
            for key in self.keys(plan)
        }

    def output(self, target: str) -> str:
        """Return what the stage's step writes: a lone record, or the folder of a batch."""
        return self.path(target) if self.each is None else f"{target}/{self.stage}"


AnyStage: TypeAlias = TargetStage[Any, Any]


def run_path(plan: TargetPlan, path: str) -> str:
    """Return where a record lies of the run that measured a target, by its path there."""
    within = plan.provision.within
    return path if within is None else f"{within}/{path}"


def _parts(key: str | tuple[str, ...]) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else key


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
plan_path, pipeline_path = "plan.json".format, "pipeline.json".format
inspections_path, timings_path = "inspections.json".format, "timings.json".format


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
PROFILES: TargetStage[tuple[str, str, str], side_evidence.ProfileRecord] = TargetStage(
    Stage.PROFILE, side_evidence.ProfileRecord, profile_path, "profiles", Purpose.BESIDE,
    task="profile", field="profiles", each=lambda pair: pair, of_comparison=True,
    failed=outcomes.failed_profile,
)  # fmt: skip
STOPWATCHES: TargetStage[tuple[str, str], side_evidence.StopwatchRecord] = TargetStage(
    Stage.STOPWATCH, side_evidence.StopwatchRecord, stopwatch_path, "stopwatches", Purpose.BESIDE,
    task="stopwatch", field="stopwatches", each=lambda name: (name,), of_comparison=True,
    failed=outcomes.failed_stopwatch,
)  # fmt: skip
CHEATS: TargetStage[str, side_evidence.CheatsRecord] = TargetStage(
    Stage.CHEATS, side_evidence.CheatsRecord, cheats_path, "cheats", Purpose.BESIDE,
    task="cheats", field="cheats", failed=outcomes.failed_cheats,
)  # fmt: skip
SANITIZERS: TargetStage[str, side_evidence.SanitizerRecord] = TargetStage(
    Stage.SANITIZER, side_evidence.SanitizerRecord, sanitizer_path, "sanitizers", Purpose.BESIDE,
    task="sanitize", field="sanitized", failed=outcomes.failed_sanitizer,
)  # fmt: skip

RUN_STAGES: tuple[RunStage[Any, Any], ...] = (
    TOOLCHAIN_IMAGES, INSPECTIONS, BUILDS, FILE_COMPILES,
)  # fmt: skip
"""Stages that leave evidence of the run as a whole."""
TARGET_STAGES: tuple[AnyStage, ...] = (
    RUNNER_IMAGES, PLATFORMS, PROGRAMS, ORIGINALS, CORRECTNESS, BENCHMARKS, STOPWATCHES, PROFILES,
    CHEATS, SANITIZERS,
)  # fmt: skip
"""Stages that leave evidence of each target, in the order in which they are done."""
FINISHING = (Stage.REPORT, Stage.SIGN, Stage.VERIFY)
"""Stages that come after the evidence: no report can say how long its own making took."""


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
