"""The signed report that a run would replace: one of more claims is not lost without a word."""

from pathlib import Path

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_record
from assay.catalog.model import Catalog
from assay.evidence.stages import plan_path
from assay.pipeline.run_files import report_dir, report_path
from assay.records.manifest import ATTESTATION
from assay.records.plan import Plan, Request
from assay.shared.counting import counted


def require_kept_report(
    root: Path, catalog: Catalog, request: Request, plan: Plan, *, narrowed: bool
) -> None:
    """Raise BadInput where a signed report lies that has claims which this run leaves out.

    Claims that the catalog has no more count for nothing. ``narrowed``: whether targets were named,
    so that those of the report count, too.
    """
    report = report_dir(root, request)
    if not (report / ATTESTATION).is_file():
        return
    try:
        earlier = read_record(Plan, report / "evidence" / plan_path())
    except (BadInput, CheckFailed):
        return  # nobody can verify it either
    known = {*catalog.claims, *catalog.audits}
    claims = {each.claim for each in earlier.answers} & known
    lost = claims - {each.claim for each in plan.answers}
    targets = {each.target for each in earlier.targets} - {each.target for each in plan.targets}
    if lost:
        what = f"{len(lost)} of its {counted(len(claims), 'claim')}"
    elif narrowed and targets:
        what = f"its figures on {', '.join(sorted(targets))}"
    else:
        return
    raise BadInput(
        f"{report_path(request)} is a signed report, and this run would replace it without {what}: "
        "name another with --run NAME, or move it away"
    )
