"""``./assay compare``: show what several reports say of the same claims."""

from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.writable import require_file_place
from assay.cli import checkout, console
from assay.cli.comparison_output import comparison_document, show_comparison
from assay.cli.console import say
from assay.cli.given_reports import given_reports
from assay.cli.options import FreshOption, KeyOption
from assay.cli.project_folder import ProjectOption, project_folder
from assay.cli.report_names import found_reports
from assay.findings.report_comparison import Standing
from assay.report.comparison_page import comparison_page, comparison_view
from assay.shared.files import write_bytes

PARTS = (*(standing.value for standing in Standing), "gpus")
"""What --only takes."""


def compare(
    report_dirs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Reports to compare: directories, archives or names; or one that measured on "
            "several GPU products.",
            metavar="REPORT_DIR",
            callback=found_reports,
        ),
    ] = None,
    key: KeyOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show figures that neither changed nor shifted, too.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Part to show: changed (another status), shifted (intervals without a common "
            "point), some (answered in some of the reports alone), rest, gpus (workloads that "
            "several GPU products ran); repeatable."
        ),
    ] = None,
    claim: Annotated[list[str] | None, typer.Option(help="Claim id; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write everything as a page.", metavar="FILE")
    ] = None,
    fresh: FreshOption = False,
    project: ProjectOption = None,
) -> None:
    """Compare reports: what changed, what shifted."""
    folders = report_dirs or []
    if not folders:
        raise BadInput("name two reports, or one that measured on several GPU products")
    if unknown := [name for name in only or () if name not in PARTS]:
        raise BadInput(f"there is no part '{unknown[0]}'; known: {', '.join(PARTS)}")
    if html is not None:
        require_file_place(html)
    reports = list(given_reports(folders, key, fresh=fresh, project=project_folder(project)))
    view = comparison_view(reports, claim or ())
    if len(folders) == 1 and not view.pairs:
        raise BadInput(f"{view.names[0]} measured on no two GPU products: name another report, too")
    if html is not None:
        write_bytes(html, comparison_page(checkout.ROOT / "reports" / "templates", view).encode())
    if as_json:
        console.show_json(comparison_document(view))
    else:
        show_comparison(view, only or ([*PARTS] if every else []))
    if html is not None and not as_json:
        say(f"page: {html}")
