"""The output of ``compare``: one table, warnings before it, and the same as JSON."""

from collections.abc import Sequence
from typing import Any

from assay.cli import console
from assay.cli.tables import TableColumn, show_table
from assay.findings.report_comparison import Standing
from assay.report.comparison_page import ComparisonView, cell, difference, pair_cells
from assay.shared.counting import counted

GPUS = "gpus"


def show_comparison(view: ComparisonView, only: Sequence[str]) -> None:
    """Print warnings and what ``only`` names: else changed and shifted figures, and pairs of GPU
    products where the reports share none.
    """
    for warning in view.warnings:
        console.err.print(f"warning: {warning}", markup=False, soft_wrap=True)
    shown = list(only) or [Standing.CHANGED.value, Standing.SHIFTED.value]
    if not only and not view.shares_a_target:
        shown.append(GPUS)
    rows = [row for row in view.figures if row.standing.value in shown]
    # Columns of prose: a status, a figure and an interval may be broken between words.
    columns = (
        TableColumn("how"),
        TableColumn("claim"),
        TableColumn("target", 1),
        TableColumn("difference", 2),
        *(TableColumn(name, prose=True) for name in view.names),
    )
    marks = ["" if report.verified else "unverified, " for report in view.reports]
    table = [
        (
            row.standing.value,
            row.claim,
            row.target or "",
            difference(row),
            *(mark + cell(each) for mark, each in zip(marks, row.figures, strict=True)),
        )
        for row in rows
    ]
    if set(shown) - {GPUS}:
        show_table(console.out, console.err, _title(view, shown), columns, table)
    if GPUS in shown and view.pairs:
        _show_pairs(view)


def _title(view: ComparisonView, shown: Sequence[str]) -> str:
    counts = {standing: len(view.of(standing)) for standing in Standing}
    changed, shifted = counts[Standing.CHANGED], counts[Standing.SHIFTED]
    title = (
        f"{counted(changed, 'figure')} changed, {shifted} shifted beyond both intervals, "
        f"{counts[Standing.REST]} did neither"
    )
    more = [] if Standing.REST.value in shown else ["--all shows all"]
    if view.pairs and GPUS not in shown:
        pairs = counted(len(view.pairs), "workload")
        more.append(f"--only {GPUS} shows {pairs} that several GPU products ran")
    return f"{title} ({'; '.join(more)})" if more else title


def _show_pairs(view: ComparisonView) -> None:
    for products in dict.fromkeys(pair.products for pair in view.pairs):
        first, second = products
        columns = (
            TableColumn("workload"),
            TableColumn("arm", 1),
            TableColumn(first, prose=True),
            TableColumn(second, prose=True),
            TableColumn(f"{second} over {first}", prose=True),
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
        "warnings": list(view.warnings),
        "figures": [
            {
                "claim": row.claim,
                "target": row.target,
                "standing": row.standing.value,
                "difference": row.difference,
                "asked_otherwise": row.asked_otherwise,
                "figures": [each and each.model_dump(mode="json") for each in row.figures],
            }
            for row in view.figures
        ],
        "gpus": [
            {
                "comparison": pair.comparison,
                "arm": pair.arm,
                "variant": pair.variant,
                "workload": pair.workload,
                "products": list(pair.products),
                "rates": [rate.model_dump(mode="json") for rate in pair.rates],
                "ratio": pair.ratio,
                "ci90": list(pair.ci90),
            }
            for pair in view.pairs
        ],
    }
