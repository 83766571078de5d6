"""The output of ``compare``: one table, warnings before it, and the same as JSON."""

from collections.abc import Sequence
from typing import Any

from assay.cli import console
from assay.cli.tables import TableColumn, is_terminal, show_table
from assay.findings.report_comparison import Standing
from assay.report.comparison_page import ComparisonView, cell, difference, pair_cells
from assay.shared.counting import counted

GPUS = "gpus"


def show_comparison(view: ComparisonView, only: Sequence[str]) -> None:
    """Print warnings and what ``only`` names: else changed and shifted figures, and pairs of GPU
    products where the reports share none.
    """
    for warning in (*([view.products] if view.products else []), *view.warnings):
        console.err.print(f"warning: {warning}", markup=False, soft_wrap=True)
    shown = list(only) or [Standing.CHANGED.value, Standing.SHIFTED.value]
    if not only and not view.shares_a_product:
        shown.append(GPUS)
    if set(shown) - {GPUS}:
        _show_figures(view, shown)
    if GPUS in shown:
        _show_pairs(view)


def _show_figures(view: ComparisonView, shown: Sequence[str]) -> None:
    # Columns of prose: a title, a status, a figure and an interval may be broken between words.
    columns = (
        TableColumn("figure", prose=True),
        TableColumn("how"),
        TableColumn("claim", 2),
        TableColumn("target", 1),
        TableColumn("claimed", prose=True),
        TableColumn("difference", 3),
        *(TableColumn(name, prose=True) for name in view.names),
    )
    marks = ["" if report.verified else "unverified, " for report in view.reports]
    table = [
        (
            row.title,
            row.standing.value,
            row.claim,
            row.target or "",
            row.claimed,
            difference(row),
            *(mark + cell(each) for mark, each in zip(marks, row.figures, strict=True)),
        )
        for row in view.figures
        if row.standing.value in shown
    ]
    if table or not is_terminal(console.out):
        show_table(console.out, console.err, _title(view, shown), columns, table)
    else:
        console.say(_title(view, shown))


def _title(view: ComparisonView, shown: Sequence[str]) -> str:
    more = [] if Standing.REST.value in shown else ["--all shows all"]
    if view.pairs and GPUS not in shown:
        pairs = counted(len(view.pairs), "workload")
        more.append(f"--only {GPUS} shows {pairs} that several GPU products ran")
    return f"{view.counts()} ({'; '.join(more)})" if more else view.counts()


def _show_pairs(view: ComparisonView) -> None:
    for products in dict.fromkeys(pair.products for pair in view.pairs):
        first, second = products
        columns = (
            TableColumn("by", prose=True),
            TableColumn("what ran", 2, prose=True),
            TableColumn(first, prose=True),
            TableColumn(second, prose=True),
            TableColumn(f"{second} over {first}", prose=True),
            TableColumn("workload", 1),
        )
        rows = [pair_cells(pair) for pair in view.pairs if pair.products == products]
        title = f"{first} and {second}, arm by arm on the same workload"
        show_table(console.out, console.err, title, columns, rows)


def comparison_document(view: ComparisonView) -> dict[str, Any]:
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
