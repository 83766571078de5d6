"""Reading the records of a run from its directory or from a report."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.evidence.model import BuildKey, Evidence, RecordedBuild
from assay.evidence.stages import (
    BUILDS,
    FILE_COMPILES,
    INSPECTIONS,
    TARGET_STAGES,
    TOOLCHAIN_IMAGES,
    earlier_builds,
    plan_path,
    recorded_builds,
    recorded_compilations,
    recorded_inspections,
    recorded_timings,
    slurm_jobs_path,
    timings_path,
)
from assay.records.base import Record
from assay.records.builds import BuildRecord
from assay.records.inspections import DeviceCodeResult, InspectionsRecord
from assay.records.plan import Plan
from assay.records.slurm_jobs import SlurmJobsRecord
from assay.records.timings import TimingsRecord
from assay.shared.read_limits import MOST_EVIDENCE, unpacked_size

K = TypeVar("K", bound=str | tuple[str, ...])
R = TypeVar("R", bound=Record)


def load_evidence(directory: Path) -> Evidence:
    """Read the records that the plan below ``directory`` calls for; absent ones are left out.

    A missing plan or a malformed record raises BadInput, and so do more bytes of records together
    than any report has. A measurement that the plan calls for and that is not there stays absent:
    the judge turns that into ``not_run``.
    """
    plan = read_record(Plan, directory / plan_path())
    records = _Records(directory)
    inspected = records.load(INSPECTIONS.record, INSPECTIONS.paths(plan)).values()
    device_code, paths = _device_code(records, plan, inspected)
    of_targets = {
        entry.collection: records.load(entry.record, entry.paths(*plan.targets))
        for entry in TARGET_STAGES
    }
    target_builds = _target_builds(records, plan)
    compiled = _file_compile_paths(plan)
    return Evidence(
        plan=plan,
        builds=records.load(BUILDS.record, BUILDS.paths(plan)),
        inspections={e.claim: e for record in inspected for e in record.inspections},
        device_code=device_code,
        device_code_paths=paths,
        toolchain_images=records.load(TOOLCHAIN_IMAGES.record, TOOLCHAIN_IMAGES.paths(plan)),
        timings=records.read(TimingsRecord, timings_path()),
        target_timings=records.load(
            TimingsRecord,
            {each.target: path for each in plan.targets for path in recorded_timings(each)},
        ),
        recorded_builds=_recorded_builds(plan, target_builds),
        target_builds=target_builds,
        earlier_builds=records.load(
            BUILDS.record,
            {
                (target.target, variant): path
                for target in plan.targets
                for variant, path in earlier_builds(target).items()
            },
        ),
        file_compiles=records.load(FILE_COMPILES.record, compiled),
        file_compile_paths=compiled,
        slurm_jobs=records.read(SlurmJobsRecord, slurm_jobs_path()),
        **of_targets,
    )


class _Records:
    """The records below a directory, as long as they are no more than a report has."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._left = MOST_EVIDENCE

    def load(self, record: type[R], paths: Mapping[K, str]) -> dict[K, R]:
        """Return the records that are there, by the keys of their paths."""
        read = {key: self.read(record, path) for key, path in paths.items()}
        return {key: found for key, found in read.items() if found is not None}

    def read(self, record: type[R], relative: str) -> R | None:
        """Return the record; None where there is none. Raises BadInput for a malformed one."""
        path = self._directory / relative
        if not path.is_file():
            return None
        self._left -= unpacked_size(path)
        if self._left < 0:
            problem = f"{self._directory}: its records have more than {MOST_EVIDENCE:,} bytes"
            raise BadInput(problem, code="evidence-size")
        return read_record(record, path)


def _device_code(
    records: _Records, plan: Plan, inspected: Iterable[InspectionsRecord]
) -> tuple[dict[str, DeviceCodeResult], dict[str, str]]:
    """Return what optional packages hold, by claim, and the paths of what came along.

    What this machine has decides; where it lacks a package, a machine that measured may have it.
    """
    found = {each.claim: each for record in inspected for each in record.device_code}
    paths: dict[str, str] = {}
    for path in (path for target in plan.targets for path in recorded_inspections(target)):
        record = records.read(INSPECTIONS.record, path)
        for each in record.device_code if record else ():
            here = found.get(each.claim)
            if each.status == "inspected" and (here is None or here.status != "inspected"):
                found[each.claim], paths[each.claim] = each, path
    return found, paths


def _target_builds(records: _Records, plan: Plan) -> dict[str, dict[BuildKey, BuildRecord]]:
    """Return the build records that came along with each target's recorded figures."""
    return {
        target.target: records.load(BUILDS.record, paths)
        for target in plan.targets
        if (paths := recorded_builds(target))
    }


def _recorded_builds(
    plan: Plan, target_builds: Mapping[str, Mapping[BuildKey, BuildRecord]]
) -> dict[BuildKey, RecordedBuild]:
    """Of several reports with a record of one build, the first target's."""
    found: dict[BuildKey, RecordedBuild] = {}
    for target in plan.targets:
        paths = recorded_builds(target)
        for key, record in target_builds.get(target.target, {}).items():
            name = target.provision.recorded_in or ""
            found.setdefault(key, RecordedBuild(record, paths[key], name))
    return found


def _file_compile_paths(plan: Plan) -> dict[tuple[str, str], str]:
    """Return where the records of files compiled as published lie: what this run compiled itself
    decides, then the first target's that one came along with.
    """
    found = FILE_COMPILES.paths(plan)
    for target in plan.targets:
        found = recorded_compilations(target) | found
    return found
