"""``./assay compare``: show what several reports say of the same claims."""

from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput, CheckFailed
from assay.base.writable import require_file_place
from assay.base.yaml_problems import suggest
from assay.cli import checkout, console
from assay.cli.given_reports import given_reports
from assay.cli.options import KeyOption, ProjectOption, project_folder
from assay.findings.replication import again_between, again_line
from assay.findings.report_comparison import GivenReport, Standing, regressions
from assay.report.comparison_page import cell, comparison_page, comparison_view, difference
from assay.shared.counting import counted
from assay.shared.files import write_bytes


def compare(
    report_dirs: Annotated[
        list[Path] | None,
        typer.Argument(help="Reports or archives.", metavar="REPORT_DIR"),
    ] = None,
    key: KeyOption = None,
    every: Annotated[bool, typer.Option("--all", help="Show every figure on every GPU.")] = False,
    claim: Annotated[
        list[str] | None, typer.Option(help="Claim to show, changed or not; repeatable.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write everything as a page.", metavar="FILE")
    ] = None,
    fail: Annotated[
        bool,
        typer.Option(
            "--fail-on-regression",
            help="Exit 1 if a figure of the last report is worse than in the first: it no longer "
            "holds, or its whole interval is worse.",
        ),
    ] = False,
    project: ProjectOption = None,
) -> None:
    """Compare reports: what changed, what shifted."""
    folders = report_dirs or []
    if len(folders) < 2:
        raise BadInput("name two reports")
    if html is not None:
        require_file_place(html)
    reports = list(given_reports(folders, key, project_folder(project)))
    for report in reports:
        if not report.intact:
            raise CheckFailed(f"{report.name}: nothing is compared with it: {report.note}")
    known = {name for report in reports for name in report.figures.claims}
    for name in set(claim or ()) - known:
        raise BadInput(f"no report says anything of '{name}'{suggest(name, sorted(known))}")
    if not any(a.figures.claims.keys() & b.figures.claims for a, b in combinations(reports, 2)):
        raise BadInput("these reports have no claim in common: nothing can be compared")
    view, every = comparison_view(reports, claim or ()), every or bool(claim)
    for warning in (*([view.products] if view.products else []), *view.warnings):
        console.note(f"warning: {warning}")
    heads = ("claim", "figure", "how", "target", "claimed", "difference", *view.names)
    rows = []
    for row in view.figures if every else view.measurements:
        if every or row.standing in (Standing.CHANGED, Standing.SHIFTED):
            figures = zip(view.reports, row.figures, strict=True)
            cells = (f"{report.mark if each else ''}{cell(each)}" for report, each in figures)
            how, target = row.standing.value, row.target or ""
            rows.append((row.claim, row.title, how, target, row.claimed, difference(row), *cells))
    found = "Below: what changed or shifted, each measurement once" if rows else "Nothing changed"
    more = [] if every else [f"{found} (--all: all)"]
    kept = "claim", "how", "target"
    columns = [console.TableColumn(h, h not in kept, alone=h in view.names) for h in heads]
    console.show_table("\n".join([*view.counts(), *more]), columns, rows)
    console.note(f"{view.names[0]}: {again_line(again_between(view.reports))}")
    if html is not None:
        write_bytes(html, comparison_page(checkout.ROOT / "reports" / "templates", view).encode())
        console.say(f"page: {html}")
    if fail:
        _require_no_regression(view.reports[0], view.reports[-1])


def _require_no_regression(earlier: GivenReport, later: GivenReport) -> None:
    """Raise CheckFailed where a figure is worse."""
    found = list(regressions(earlier.figures, later.figures))
    for figure, how in found:
        where = f" on {figure.target}" if figure.target else ""
        console.say(f"regression: {figure.claim}{where}: {cell(figure)}; {how}")
    if found:
        raise CheckFailed(f"{later.name}: {counted(len(found), 'regression')} since {earlier.name}")
