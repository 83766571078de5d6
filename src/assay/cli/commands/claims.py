"""``./assay claims``: list claims and audits with their verdicts."""

from typing import Annotated

import typer

from assay.catalog.load import load_catalog
from assay.cli import checkout, console
from assay.cli.listing import claim_rows, matching, statuses
from assay.cli.project_folder import ProjectOption, home, project_folder
from assay.cli.report_verdicts import verdicts_of
from assay.cli.result_tables import show_claims
from assay.verification.report_archive import report_name
from assay.verification.trust import published_reports


def claims(
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
    source: Annotated[list[str] | None, typer.Option(help="Source id; repeatable.")] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(help="Verdict in the newest published report, as not_run; repeatable."),
    ] = None,
    search: Annotated[
        str, typer.Option(help="Text in the id, statement, section or source.", show_default=False)
    ] = "",
    project: ProjectOption = None,
) -> None:
    """List claims and audits: where each stands, how it is answered."""
    wanted = statuses(status or ())
    folder = project_folder(project)
    catalog = load_catalog(checkout.ROOT, folder)
    catalog.check_selection(source or (), ())
    report = next(iter(published_reports(home(folder))), None)
    verdicts = verdicts_of(report).verdicts if report else ()
    rows = matching(claim_rows(catalog, verdicts, source or ()), wanted, search)
    if as_json:
        console.show_json(rows)
    else:
        show_claims(rows, report_name(report) if report else None)
