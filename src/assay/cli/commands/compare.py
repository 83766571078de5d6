"""``./assay compare``: show what several reports say of the same claims."""

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.base.errors import BadInput
from assay.base.printable import shown_line
from assay.base.writable import require_file_place
from assay.cli import checkout, console
from assay.cli.console import TableColumn, say
from assay.cli.given_reports import given_reports
from assay.cli.options import KeyOption, found_reports
from assay.cli.project_folder import ProjectOption, project_folder
from assay.findings.replication import again_between, again_line
from assay.findings.report_comparison import Standing
from assay.report.comparison_page import (
    ComparisonView,
    cell,
    comparison_page,
    comparison_view,
    difference,
    pair_cells,
    pairs_in_short,
)
from assay.shared.files import write_bytes


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
    claim: Annotated[list[str] | None, typer.Option(help="Claim id; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write everything as a page.", metavar="FILE")
    ] = None,
    project: ProjectOption = None,
) -> None:
    """Compare reports: what changed, what shifted."""
    folders = report_dirs or []
    if not folders:
        raise BadInput("name two reports, or one that measured on several GPU products")
    if html is not None:
        require_file_place(html)
    reports = list(given_reports(folders, key, project_folder(project)))
    view = comparison_view(reports, claim or ())
    if len(folders) == 1 and not view.pairs:
        raise BadInput(f"{view.names[0]} measured on no two GPU products: name another report, too")
    if html is not None:
        write_bytes(html, comparison_page(checkout.ROOT / "reports" / "templates", view).encode())
    if as_json:
        console.show_json(_document(view))
    else:
        _show(view, every=every)
    if html is not None and not as_json:
        say(f"page: {html}")


def _show(view: ComparisonView, *, every: bool) -> None:
    """Print warnings, figures that changed or shifted, and pairs of GPU products where the reports
    share none; ``every``: all figures and pairs.
    """
    for warning in (*([view.products] if view.products else []), *view.warnings):
        console.note(f"warning: {warning}")
    several = len(view.reports) > 1
    if several:
        _show_figures(view, every=every)
    if every or not (view.shares_a_product and several):
        _show_pairs(view)
    if several:
        console.note(f"{view.names[0]}: {again_line(again_between(view.reports))}")


def _show_figures(view: ComparisonView, *, every: bool) -> None:
    heads = ("claim", "figure", "how", "target", "claimed", "difference", *view.names)
    rows = []
    for row in view.figures:
        if every or row.standing in (Standing.CHANGED, Standing.SHIFTED):
            figures = zip(view.reports, row.figures, strict=True)
            cells = (f"{report.mark}{cell(each)}" for report, each in figures)
            how, target = row.standing.value, row.target or ""
            rows.append((row.claim, row.title, how, target, row.claimed, difference(row), *cells))
    more = [] if every else ["(--all shows all)"]
    columns = [TableColumn(head, prose=head not in ("claim", "how", "target")) for head in heads]
    console.show_table("\n".join([*view.counts(), *more]), columns, rows)


def _show_pairs(view: ComparisonView) -> None:
    for products in dict.fromkeys(pair.products for pair in view.pairs):
        first, second = products
        heads = ("by", "what ran", first, second, f"{second} over {first}")
        columns = (*(TableColumn(head, prose=True) for head in heads), TableColumn("workload"))
        rows = [pair_cells(pair) for pair in view.pairs if pair.products == products]
        title = f"{first} and {second}, arm by arm on the same workload"
        console.show_table(title, columns, rows)
    for line in pairs_in_short(view.pairs):
        console.say(shown_line(line))


def _document(view: ComparisonView) -> dict[str, Any]:
    """Return everything, for programs."""
    return {
        "schema": "assay/comparison/1",
        "reports": [
            {
                "name": name,
                "run": report.figures.run,
                "verified": report.verified,
                "note": report.note,
                "manifest_sha256": report.figures.manifest_sha256,
                "machines": [m.model_dump(mode="json") for m in report.figures.machines],
            }
            for name, report in zip(view.names, view.reports, strict=True)
        ],
        "products": view.products,
        "warnings": list(view.warnings),
        "measured_again": again_between(view.reports).model_dump(mode="json"),
        "counts": list(view.counts()),
        "figures": [
            {
                "claim": row.claim,
                "title": row.title,
                "claimed": row.claimed,
                "target": row.target,
                "standing": row.standing.value,
                "difference": row.difference,
                "asked_otherwise": row.asked_otherwise,
                "one_measurement": row.one_measurement,
                "kind": row.kind or None,
                "figures": [each and each.model_dump(mode="json") for each in row.figures],
            }
            for row in view.figures
        ],
        "gpus": [
            {
                "comparison": pair.comparison,
                "arm": pair.arm,
                "comparison_title": pair.comparison_title,
                "variant": pair.variant,
                "variant_title": pair.variant_title,
                "workload": pair.workload,
                "products": list(pair.products),
                "rates": [rate.model_dump(mode="json") for rate in pair.rates],
                "ratio": pair.ratio,
                "ci90": list(pair.ci90),
            }
            for pair in view.pairs
        ],
    }
