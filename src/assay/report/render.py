"""Render a report directory: evidence copied whole, verdicts, and two readable accounts of them."""

import hashlib
import re
import shutil
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import dump_record, read_record, read_text, write_record
from assay.base.pip_locks import TOOLCHAIN_LOCK, lock_digest
from assay.base.printable import shown
from assay.catalog.load import catalog_files
from assay.evidence import stages
from assay.evidence.load import ReportContents, read_contents
from assay.evidence.timings import collect_timings
from assay.records.attestation import APPENDIX, ATTESTATION, PAGE, TEXT, VERDICTS
from assay.records.plan import Plan
from assay.records.verdicts import Status, VerdictsFile
from assay.report.figures.svg import symbols
from assay.report.replaceable import built_beside, require_replaceable
from assay.report.static_page import static_page
from assay.report.view import build_view
from assay.shared.files import write_bytes

SCRIPT = "claims.js"


def render(root: Path, run_dir: Path, out_dir: Path) -> None:
    """Build the report of ``run_dir`` (with verdicts.json in it) as directory ``out_dir``.

    ``root`` is the repository, for the templates. The report is built beside its
    place and swapped in whole; an existing one stays until then. It is not signed yet.
    Raises BadInput for missing or malformed records, and where what is there is no report.
    """
    require_replaceable(out_dir)
    with built_beside(out_dir) as building:
        _build(root, run_dir, building)
        require_replaceable(out_dir)  # again: rendering took its time


def _build(root: Path, run_dir: Path, report: Path) -> None:
    evidence_dir = report / "evidence"
    plan = read_record(Plan, run_dir / stages.plan_path())
    for path in sorted({*_evidence_files(run_dir, plan), *catalog_files(run_dir)}):
        _copy(run_dir / path, evidence_dir / path)
    _copy_lock(root, evidence_dir, plan)
    timings = collect_timings(run_dir, plan)
    if timings.steps:
        write_record(timings, evidence_dir / stages.timings_path())
    verdicts = read_record(VerdictsFile, run_dir / VERDICTS)
    write_bytes(report / VERDICTS, dump_record(verdicts))
    for name, text in render_contents(root, read_contents(report)).items():
        write_bytes(report / name, text.encode())


def render_contents(root: Path, contents: ReportContents) -> dict[str, str]:
    """Return both pages and the text of what a report holds; ``root`` is the repository.

    Raises BadInput when a template is missing or broken.
    """
    view = build_view(contents.catalog, contents.evidence, contents.verdicts, contents.pipeline)
    templates = root / "reports" / "templates"
    told = {"view": view, "statuses": tuple(Status), "symbols": symbols()}
    script = read_text(templates / SCRIPT)
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = {"text": script, "digest": f"sha256-{digest}"}
    page = static_page(templates, f"{PAGE}.j2", **told, script=allowed)
    appendix = static_page(templates, f"{APPENDIX}.j2", **told)
    text = static_page(templates, f"{TEXT}.j2", **told)
    # Whatever the evidence says: nothing on a page turns its letters round or is invisible.
    text = re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
    return {PAGE: shown(slim(page)), APPENDIX: shown(slim(appendix)), TEXT: shown(text)}


def slim(page: str) -> str:
    """Return a page without the end tags that HTML lets one leave out: a sixteenth of its bytes.

    Text of records holds none: there a ``<`` is escaped.
    """
    return re.sub(r"</(?:td|th|tr|thead|tbody|dt|dd|li|option)>", "", page)


def _evidence_files(run_dir: Path, plan: Plan) -> Iterator[str]:
    """Yield every record of the plan that exists, and all files of reports that are taken over."""
    yield stages.plan_path()
    yield stages.pipeline_path()
    measured = (each for each in plan.targets if each.provision.kind == "device")
    records = (path for each in measured for path in stages.target_paths(each))
    for path in (*stages.run_files(plan), *records):
        if (run_dir / path).is_file():
            yield path
    for name in stages.nested_reports(plan.targets):
        nested = run_dir / stages.earlier_path(name)
        if not (nested / ATTESTATION).is_file():
            raise BadInput(f"{nested}: missing, so nothing vouches for what is taken from it")
        files = (path for path in nested.rglob("*") if not path.is_dir())
        yield from (path.relative_to(run_dir).as_posix() for path in files)


def _copy_lock(root: Path, evidence_dir: Path, plan: Plan) -> None:
    lock, paths = root / TOOLCHAIN_LOCK, stages.BUILDS.paths(plan).values()
    builds = [evidence_dir / path for path in paths if (evidence_dir / path).is_file()]
    locked = {read_record(stages.BUILDS.record, path).toolchain.lock_sha256 for path in builds}
    if lock.is_file() and locked == {lock_digest(lock)}:  # the one that the compilers came by
        _copy(lock, evidence_dir / TOOLCHAIN_LOCK)


def _copy(source: Path, destination: Path) -> None:
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, destination)
    except OSError as error:
        raise BadInput(f"{source}: cannot be copied: {error.strerror}") from error
