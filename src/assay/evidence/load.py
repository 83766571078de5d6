"""Reading the records of a run from its directory or from a report."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from assay.base.errors import BadInput
from assay.base.io import parse_record, read_bytes, read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.catalog.project_folder import project_of
from assay.evidence import stages
from assay.evidence.model import BuildKey, Evidence, RecordedBuild
from assay.records.attestation import VERDICTS, PipelineRecord
from assay.records.base import Record
from assay.records.builds import BuildRecord
from assay.records.plan import Plan, TargetPlan
from assay.records.timings import TimingsRecord
from assay.records.verdicts import VerdictsFile
from assay.shared.read_limits import MOST_CODE, MOST_CODE_LINE, MOST_EVIDENCE, unpacked_size

K = TypeVar("K", bound=str | tuple[str, ...])
R = TypeVar("R", bound=Record)


def load_evidence(directory: Path) -> Evidence:
    """Read the records that the plan calls for; the judge turns absent ones into ``not_run``.
    Raises BadInput for a missing plan, a malformed record, and more bytes than any report has.
    """
    plan = read_record(Plan, directory / stages.plan_path())
    records = _Records(directory)
    of_targets = {
        entry.collection: records.load(entry.record, entry.paths(*plan.targets))
        for entry in stages.TARGET_STAGES
    }
    recorded = [each for each in plan.targets if each.provision.kind == "recorded"]
    folders = {
        each.target: own_records(directory / (each.provision.within or ""), each.target)
        .relative_to(directory)
        .as_posix()
        for each in recorded
    }
    paths: dict[str, dict[BuildKey, str]] = {
        target: {
            (path.stem, path.parent.name): path.relative_to(directory).as_posix()
            for path in sorted((directory / folder / "builds").glob("*/*.json"))
        }
        for target, folder in folders.items()
    }
    target_builds = {target: records.load(stages.BUILDS.record, of) for target, of in paths.items()}
    compiled = stages.FILE_COMPILES.paths(plan)
    for each in reversed(recorded):
        folder = folders[each.target]
        there = {
            job.key: f"{folder}/{stages.file_compile_path(*job.key)}" for job in each.compilations
        }
        compiled = there | compiled
    return Evidence(
        plan=plan,
        builds=records.load(stages.BUILDS.record, stages.BUILDS.paths(plan)),
        toolchain_images=records.load(
            stages.TOOLCHAIN_IMAGES.record, stages.TOOLCHAIN_IMAGES.paths(plan)
        ),
        timings=records.read(TimingsRecord, stages.timings_path()),
        recorded_builds=_recorded_builds(recorded, paths, target_builds),
        target_builds=target_builds,
        file_compiles=records.load(stages.FILE_COMPILES.record, compiled),
        file_compile_paths=compiled,
        project_code=_project_code(directory),
        **_inspected(records, plan, folders.values()),
        **of_targets,
    )


def own_records(evidence: Path, target: str) -> Path:
    """Return where a measuring run's own records lie, by the folder of the target's ``evidence``;
    earlier versions copied what was taken over beside it.
    """
    copied = evidence / stages.origin_folder(target)
    return copied if copied.is_dir() else evidence


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


def _inspected(records: _Records, plan: Plan, folders: Iterable[str]) -> dict[str, Any]:
    """Return what was counted in files and found in optional packages, by claim, and where. This
    machine decides; where it lacks a package, one that measured may have it.
    """
    counted, code, paths = dict[str, Any](), dict[str, Any](), dict[str, str]()
    own = list(stages.INSPECTIONS.paths(plan).values())
    for path in (*own, *(f"{folder}/{stages.inspections_path()}" for folder in folders)):
        record = records.read(stages.INSPECTIONS.record, path)
        for each in record.inspections if record else ():
            if counted.setdefault(each.claim, each) is each:
                paths[each.claim] = path
        for found in record.device_code if record else ():
            here = code.get(found.claim)
            better = here is None or (found.status == "inspected" and here.status != "inspected")
            if better and (path in own or found.status == "inspected"):
                code[found.claim], paths[found.claim] = found, path
    return {"inspections": counted, "device_code": code, "inspection_paths": paths}


def _project_code(directory: Path) -> dict[str, bytes]:
    """Return a project's files of Python, but for those that no parser should be given."""
    found = dict[str, bytes]()
    if (folder := project_of(directory)) is None:
        return found
    for path in sorted(folder.rglob("*.py")):
        if path.is_file() and path.stat().st_size <= MOST_CODE:
            data = path.read_bytes()
            if max(map(len, data.splitlines()), default=0) <= MOST_CODE_LINE:
                found[path.relative_to(folder).as_posix()] = data
    return found


def _recorded_builds(
    recorded: Iterable[TargetPlan],
    paths: Mapping[str, Mapping[BuildKey, str]],
    builds: Mapping[str, Mapping[BuildKey, BuildRecord]],
) -> dict[BuildKey, RecordedBuild]:
    """Return builds that today's sources and tools make again; of several, the first target's."""
    found: dict[BuildKey, RecordedBuild] = {}
    for target, provision in ((each.target, each.provision) for each in recorded):
        for key, record in builds[target].items():
            if key[0] not in provision.earlier_sources:
                origin = provision.recorded_in or ""
                found.setdefault(key, RecordedBuild(record, paths[target][key], origin))
    return found


@dataclass(frozen=True)
class ReportContents:
    """The verdicts that a report states, what made it, and the evidence that they are about."""

    verdicts: VerdictsFile
    verdicts_data: bytes
    """verdicts.json, byte for byte."""
    pipeline: PipelineRecord
    catalog: Catalog
    evidence: Evidence


def read_contents(
    report_dir: Path, loaded: tuple[Catalog, Evidence] | None = None
) -> ReportContents:
    """Read what a report states, and its evidence unless ``loaded``. Raises BadInput."""
    data, folder = read_bytes(report_dir / VERDICTS), report_dir / "evidence"
    verdicts = parse_record(VerdictsFile, data, report_dir / VERDICTS)
    pipeline = read_record(PipelineRecord, folder / stages.pipeline_path())
    catalog, evidence = loaded or (load_catalog(folder), load_evidence(folder))
    return ReportContents(verdicts, data, pipeline, catalog, evidence)
