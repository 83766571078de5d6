"""Where a run lies, and the files that bind it: request, plan and configuration.

The command writes these once; the workflow and every step read them there. So a catalog that is
edited under a running run is used by none of its steps, and by all steps of its next start.
"""

import time
from datetime import UTC, datetime
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import dump_record, read_record
from assay.catalog.load import base_files, catalog_files, load_catalog
from assay.catalog.model import Catalog
from assay.catalog.project import project_files
from assay.catalog.project_folder import EVIDENCE_FOLDER
from assay.evidence import stages
from assay.evidence.timings import write_timing
from assay.measuring.resume import kept_folder, kept_record
from assay.records.attestation import PipelineRecord
from assay.records.plan import Plan, Provision, Request
from assay.records.timings import Stage
from assay.shared.files import write_bytes

REQUEST = "request.json"
RESULTS, REPORTS = "results", "reports"
MEASURED = "measured/{}"
"""Of a run: says that all is measured of a target."""
VERIFIED = "verified.txt"
"""Of a run: what was found when its report was verified."""


def bind_run(root: Path, catalog: Catalog, request: Request, plan: Plan) -> None:
    """Write what the run is bound to. Raises BadInput where ``catalog`` was edited since."""
    began, started = datetime.now(UTC), time.monotonic()
    own, files = root / run_path(request), _files(root, request, plan)
    if load_catalog(root, None if request.home is None else Path(request.home)) != catalog:
        raise BadInput("the configuration was edited while this command started: start again")
    replanned = False
    for name, data in files.items():
        if not (own / name).is_file() or (own / name).read_bytes() != data:
            write_bytes(own / name, data)
            replanned = replanned or name == stages.plan_path()
    for name in set(catalog_files(own)) - files.keys():
        (own / name).unlink()
    if replanned:
        write_timing(own, Stage.PLAN, {}, began, time.monotonic() - started)


def read_bound(folder: Path) -> tuple[Request, Plan]:
    """Return what a run was asked for, and its plan. Raises BadInput."""
    if not (folder / REQUEST).is_file():
        raise BadInput(f"{folder / REQUEST}: no such file; ./assay reproduce starts a run")
    return read_record(Request, folder / REQUEST), read_record(Plan, folder / stages.plan_path())


def _files(root: Path, request: Request, plan: Plan) -> dict[str, bytes]:
    """Return what a run is bound to, by where it lies in the run's folder."""
    # Every job of the workflow imports this module, and binds nothing.
    from assay.verification.attestation import load_public_key  # noqa: PLC0415
    from assay.verification.sign import named_key, signing_key  # noqa: PLC0415
    from assay.verification.trusted_keys import project_keys, trusted_keys  # noqa: PLC0415

    home = None if request.home is None else Path(request.home)
    files = {name: (root / name).read_bytes() for name in base_files(root, claims=home is None)}
    if home is not None:
        found = {f"{EVIDENCE_FOLDER}/{name}": home / name for name in project_files(home)}
        files |= {name: path.read_bytes() for name, path in found.items()}
    trusted = [*project_keys(home), *trusted_keys(root)]
    if request.unsigned_for is None:
        key = signing_key(Path(request.signing_key), trusted)
    else:
        key = named_key(load_public_key(Path(request.unsigned_for)), trusted)
    pipeline = PipelineRecord(
        schema="assay/pipeline/1",
        commit=request.commit,
        clean_tree=request.clean_tree,
        signing_key=key,
    )
    records = {REQUEST: request, stages.plan_path(): plan, stages.pipeline_path(): pipeline}
    return {**files, **{name: dump_record(record) for name, record in records.items()}}


def run_path(request: Request) -> str:
    """Return results/NAME of a run as the workflow names it, from the repository's root."""
    home = "" if request.home is None else f"{request.home}/"
    return f"{home}{RESULTS}/{request.run}"


def report_path(request: Request) -> str:
    """Return reports/NAME, where its report will be, likewise."""
    home = "" if request.home is None else f"{request.home}/"
    return f"{home}{REPORTS}/{request.run}"


def foreign_place(home: Path, *run: str) -> str | None:
    """Return what is wrong where results or reports (of ``run``) lead out of ``home``, or None."""
    for place in (home / RESULTS, home / REPORTS):
        for path in (place, *(place / name for name in run)):
            if path.is_symlink() or not path.resolve().is_relative_to(home.resolve()):
                return f"{path}: is a link, and runs are kept in folders of {home} itself"
    return None


def require_own_places(home: Path, *run: str) -> None:
    """Raise BadInput where a run would be written elsewhere than below ``home``."""
    if (problem := foreign_place(home, *run)) is not None:
        raise BadInput(f"{problem}: make it a folder")


def measured_before(run_dir: Path, target: str) -> Provision | None:
    """Return the GPU on which earlier starts measured figures of a target; None elsewhere."""

    def has_figures(stage: stages.AnyStage) -> bool:
        kept = kept_folder(run_dir, stage.stage, target).glob("*.json.gz")
        return (run_dir / stage.output(target)).is_dir() or any(kept)

    plan = kept_record(run_dir / stages.plan_path(), Plan)
    platform = kept_record(run_dir / stages.PLATFORMS.path(target), stages.PLATFORMS.record)
    if plan is None or platform is None:
        return None
    found = next((each for each in plan.targets if each.target == target), None)
    if found is None or found.provision.kind != "device":
        return None
    if any(
        stage.keys(found) and not has_figures(stage)
        for stage in (stages.BENCHMARKS, stages.PROGRAMS)
    ):
        return None
    gpu = platform.device.gpu
    detail = f"measured by an earlier start of this run on {gpu.product} ({gpu.uuid})"
    return found.provision.model_copy(update={"detail": detail})
