"""Reading the records of a run from its directory or from a report."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from assay.base.io import read_record
from assay.evidence.model import BuildKey, Evidence, RecordedBuild
from assay.evidence.stages import (
    BUILDS,
    INSPECTIONS,
    TARGET_STAGES,
    TOOLCHAIN_IMAGES,
    plan_path,
    recorded_builds,
    timings_path,
)
from assay.records.base import Record
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
    inspected = _load(INSPECTIONS.record, directory, INSPECTIONS.paths(plan)).values()
    of_targets = {
        entry.collection: _load(entry.record, directory, entry.paths(*plan.targets))
        for entry in TARGET_STAGES
    }
    return Evidence(
        plan=plan,
        builds=_load(BUILDS.record, directory, BUILDS.paths(plan)),
        inspections={e.claim: e for record in inspected for e in record.inspections},
        device_code={e.claim: e for record in inspected for e in record.device_code},
        toolchain_images=_load(TOOLCHAIN_IMAGES.record, directory, TOOLCHAIN_IMAGES.paths(plan)),
        timings=_read(TimingsRecord, directory / timings_path()),
        recorded_builds=_recorded_builds(directory, plan),
        **of_targets,
    )


def _recorded_builds(directory: Path, plan: Plan) -> dict[BuildKey, RecordedBuild]:
    """Of several reports with a record of one build, the first target's."""
    found: dict[BuildKey, RecordedBuild] = {}
    for target in plan.targets:
        for key, path in recorded_builds(target).items():
            record = _read(BUILDS.record, directory / path)
            if record is not None:
                name = target.provision.recorded_in or ""
                found.setdefault(key, RecordedBuild(record, path, name))
    return found


def _load(record: type[R], directory: Path, paths: Mapping[K, str]) -> dict[K, R]:
    read = {key: _read(record, directory / path) for key, path in paths.items()}
    return {key: found for key, found in read.items() if found is not None}


def _read(record: type[R], path: Path) -> R | None:
    """Return the record; None where there is none. Raises BadInput for a malformed one."""
    return read_record(record, path) if path.is_file() else None
