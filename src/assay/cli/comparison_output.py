"""The output of ``compare``: warnings, tables, and JSON."""

from collections.abc import Sequence
from typing import Any

from assay.base.printable import shown_line
from assay.cli import console
from assay.cli.console import TableColumn
from assay.findings.replication import again_between, again_line
from assay.findings.report_comparison import Standing
from assay.report.comparison_page import (
    ComparisonView,
    cell,
    difference,
    pair_cells,
    pairs_in_short,
)
from assay.shared.counting import counted

GPUS = "gpus"


def show_comparison(view: ComparisonView, only: Sequence[str]) -> None:
    """Print warnings and what ``only`` names: else changed and shifted figures, and pairs of GPU
    products where the reports share none.
    """
    for warning in (*([view.products] if view.products else []), *view.warnings):
        console.note(f"warning: {warning}")
    shown = list(only) or [Standing.CHANGED.value, Standing.SHIFTED.value]
    if not only and (not view.shares_a_product or len(view.reports) == 1):
        shown.append(GPUS)
    if len(view.reports) == 1:
        shown = [part for part in shown if part == GPUS]
    if set(shown) - {GPUS}:
        _show_figures(view, shown)
    if GPUS in shown:
        _show_pairs(view)
    if len(view.reports) > 1:
        console.note(f"{view.names[0]}: {again_line(again_between(view.reports))}")


def _show_figures(view: ComparisonView, shown: Sequence[str]) -> None:
    heads = ("claim", "figure", "how", "target", "claimed", "difference", *view.names)
    rows = [
        (
            row.claim,
            row.title,
            row.standing.value,
            row.target or "",
            row.claimed,
            difference(row),
            *(f"{report.mark}{cell(each)}"
              for report, each in zip(view.reports, row.figures, strict=True)),
        )
        for row in view.figures
        if row.standing.value in shown
    ]  # fmt: skip
    columns = [TableColumn(head, prose=head not in ("claim", "how", "target")) for head in heads]
    console.show_table(_title(view, shown), columns, rows)


def _title(view: ComparisonView, shown: Sequence[str]) -> str:
    more = [] if Standing.REST.value in shown else ["--all shows all"]
    if view.pairs and GPUS not in shown:
        pairs = counted(len(view.pairs), "workload")
        more.append(f"--only {GPUS} shows {pairs} that several GPU products ran")
    return "\n".join([*view.counts(), *([f"({'; '.join(more)})"] if more else [])])


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
