"""Reading the records of a run from its directory or from a report."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from assay.base.io import read_record
from assay.evidence.model import Evidence
from assay.evidence.stages import (
    BENCHMARKS,
    CHEATS,
    CORRECTNESS,
    OPERATORS,
    PLATFORMS,
    PROFILES,
    PROGRAMS,
    RUNNER_IMAGES,
    SANITIZERS,
    STOPWATCHES,
    Kind,
    build_path,
    inspections_path,
    plan_path,
    timings_path,
    toolchain_image_path,
)
from assay.records.base import Record
from assay.records.builds import BuildRecord
from assay.records.images import ImageRecord
from assay.records.measurements import (
    InspectionsRecord,
)
from assay.records.plan import Plan
from assay.records.timings import TimingsRecord

K = TypeVar("K", bound=str | tuple[str, ...])
R = TypeVar("R", bound=Record)


def load_evidence(directory: Path) -> Evidence:
    """Read the records that the plan below ``directory`` calls for; absent ones are left out.

    A missing plan or a malformed record raises BadInput. A measurement that the plan calls for
    and that is not there stays absent: the judge turns that into ``not_run``.
    """
    plan = read_record(Plan, directory / plan_path())
    inspections = _read(InspectionsRecord, directory / inspections_path())
    return Evidence(
        plan=plan,
        builds=_load(
            BuildRecord,
            directory,
            {(job.id, job.arch): build_path(job.id, job.arch) for job in plan.builds},
        ),
        platforms=_of_kind(PLATFORMS, directory, plan),
        correctness=_of_kind(CORRECTNESS, directory, plan),
        benchmarks=_of_kind(BENCHMARKS, directory, plan),
        programs=_of_kind(PROGRAMS, directory, plan),
        profiles=_of_kind(PROFILES, directory, plan),
        inspections={e.claim: e for e in inspections.inspections} if inspections else {},
        toolchain_images=_load(
            ImageRecord, directory, {name: toolchain_image_path(name) for name in plan.toolchains}
        ),
        runner_images=_of_kind(RUNNER_IMAGES, directory, plan),
        operators=_of_kind(OPERATORS, directory, plan),
        stopwatches=_of_kind(STOPWATCHES, directory, plan),
        cheats=_of_kind(CHEATS, directory, plan),
        sanitizers=_of_kind(SANITIZERS, directory, plan),
        timings=_read(TimingsRecord, directory / timings_path()),
    )


def _of_kind(kind: Kind[K, R], directory: Path, plan: Plan) -> dict[K, R]:
    """The records of all targets, as far as they are there."""
    return _load(kind.record, directory, kind.paths(*plan.targets))


def _load(record: type[R], directory: Path, paths: Mapping[K, str]) -> dict[K, R]:
    read = {key: _read(record, directory / path) for key, path in paths.items()}
    return {key: found for key, found in read.items() if found is not None}


def _read(record: type[R], path: Path) -> R | None:
    """The record; None where there is none. Raises BadInput for a malformed one."""
    return read_record(record, path) if path.is_file() else None
