"""Which records there are, and where they lie. Pure.

The layout is the same in ``results/<run>/`` and in ``<report>/evidence/``; paths are relative to
the directory, so that a verdict can name its evidence.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from assay.records.base import Record
from assay.records.images import ImageRecord
from assay.records.measurements import (
    BenchmarkRecord,
    CheatsRecord,
    CorrectnessRecord,
    ProfileRecord,
    ProgramRecord,
    StopwatchRecord,
)
from assay.records.operators import OperatorsRecord
from assay.records.plan import TargetPlan
from assay.records.platform import PlatformRecord
from assay.records.sanitizer import SanitizerRecord

K = TypeVar("K", bound=str | tuple[str, ...])
R = TypeVar("R", bound=Record)


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


@dataclass(frozen=True)
class Kind(Generic[K, R]):
    """One kind of record that targets have."""

    record: type[R]
    path: Callable[..., str]
    """From the parts of a key."""
    keys: Callable[[TargetPlan], Iterable[K]]
    """What a target's plan calls for: the target itself, or it with a comparison, job or arm."""

    def paths(self, *plans: TargetPlan) -> dict[K, str]:
        """Where the records lie that the plans of targets call for."""
        keys = [key for plan in plans for key in self.keys(plan)]
        return {key: self.path(*([key] if isinstance(key, str) else key)) for key in keys}


def _each(
    of: Callable[[TargetPlan], Iterable[str]],
) -> Callable[[TargetPlan], list[tuple[str, str]]]:
    return lambda plan: [(plan.target, name) for name in of(plan)]


def _one(wanted: Callable[[TargetPlan], object]) -> Callable[[TargetPlan], list[str]]:
    return lambda plan: [plan.target] if wanted(plan) else []


PLATFORMS = Kind(PlatformRecord, platform_path, _one(lambda plan: True))
RUNNER_IMAGES = Kind(ImageRecord, runner_image_path, _one(lambda plan: plan.runner))
CORRECTNESS = Kind(CorrectnessRecord, correctness_path, _each(lambda plan: plan.comparisons))
BENCHMARKS = Kind(BenchmarkRecord, benchmark_path, _each(lambda plan: plan.comparisons))
PROGRAMS = Kind(ProgramRecord, program_path, _each(lambda plan: [job.id for job in plan.programs]))
PROFILES = Kind(
    ProfileRecord, profile_path, lambda plan: [(plan.target, *pair) for pair in plan.profiles]
)
STOPWATCHES = Kind(StopwatchRecord, stopwatch_path, _each(lambda plan: plan.stopwatches))
CHEATS = Kind(CheatsRecord, cheats_path, _one(lambda plan: plan.cheats))
SANITIZERS = Kind(SanitizerRecord, sanitizer_path, _one(lambda plan: plan.sanitized))
OPERATORS = Kind(OperatorsRecord, operators_path, _one(lambda plan: plan.operators))

BESIDE_FIGURES: tuple[Kind[Any, Any], ...] = (
    PROFILES, STOPWATCHES, CHEATS, SANITIZERS, OPERATORS,
)  # fmt: skip
"""What no verdict rests on."""
KINDS: tuple[Kind[Any, Any], ...] = (
    PLATFORMS, RUNNER_IMAGES, CORRECTNESS, BENCHMARKS, PROGRAMS, *BESIDE_FIGURES,
)  # fmt: skip
"""Everything that a target's plan calls for."""


def target_paths(plan: TargetPlan) -> list[str]:
    """Every record path that the plan of one target calls for, and an image's bill of materials."""
    paths = [path for kind in KINDS for path in kind.paths(plan).values()]
    return paths + [sbom_path(image) for image in RUNNER_IMAGES.paths(plan).values()]


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
