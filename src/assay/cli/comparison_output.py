"""The output of ``compare``: warnings, two lines a figure or a table for programs, and JSON."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.cells import cell_len

from assay.base.printable import shown_line
from assay.cli import console
from assay.cli.tables import TableColumn, is_terminal, show_table
from assay.findings.report_comparison import ComparedFigure, Standing, has_interval
from assay.report import formatting as fmt
from assay.report.comparison_page import (
    ComparisonView,
    cell,
    difference,
    pair_cells,
    pairs_in_short,
)
from assay.shared.counting import counted

GPUS = "gpus"
ARROW = " -> "
INDENT = "  "
MOVED = 8
"""Characters of how far a figure moved."""
LEAST_TITLE = 16
"""Characters of a title that are shown at any width."""


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


def _show_figures(view: ComparisonView, shown: Sequence[str]) -> None:
    rows = [row for row in view.figures if row.standing.value in shown]
    if is_terminal(console.out):
        for line in (*_title(view, shown).splitlines(), *_lines(view, rows, console.out.width)):
            console.say(line)
        return
    heads = ("figure", "how", "claim", "target", "claimed", "difference", *view.names)
    table = [
        (
            row.title,
            row.standing.value,
            row.claim,
            row.target or "",
            row.claimed,
            difference(row),
            *_cells(view, row),
        )
        for row in rows
    ]
    columns = [TableColumn(head) for head in heads]
    show_table(console.out, console.err, _title(view, shown), columns, table)


def _cells(view: ComparisonView, row: ComparedFigure) -> Iterator[str]:
    for report, each in zip(view.reports, row.figures, strict=True):
        yield f"{report.mark}{cell(each)}"


def _lines(view: ComparisonView, rows: Sequence[ComparedFigure], width: int) -> Iterator[str]:
    """Yield what a terminal shows: a heading a part, and two lines a figure where they fit."""
    for standing in Standing:
        part = [row for row in rows if row.standing is standing]
        if part:
            yield ""
            yield shown_line(
                f"{view.heading(standing)}; largest first (claimed: {ARROW.join(view.names)})"
            )
        for row in part:
            yield from _two_lines(row, [*_cells(view, row)], width)


def _two_lines(row: ComparedFigure, cells: Sequence[str], width: int) -> Iterator[str]:
    """Yield how far a figure moved, what it is and its id, which is never cut; then its figures."""
    held = "" if row.difference is None or row.one_measurement else difference(row)
    moved = f"{held:>{MOVED}}  "
    of = f"  {row.claim}{f' on {row.target}' if row.target else ''}"
    room = max(width - cell_len(moved) - cell_len(of), LEAST_TITLE)
    title = row.title if cell_len(row.title) <= room else f"{row.title[: room - 3].rstrip()}..."
    yield shown_line(f"{moved}{title}{of}")
    yield from textwrap.wrap(
        shown_line(_told(row, cells)),
        width,
        initial_indent=INDENT,
        subsequent_indent=INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _told(row: ComparedFigure, cells: Sequence[str]) -> str:
    """Return what is claimed and what each report has; the unit once where all measured in it, and
    the verdict once where all came out alike.
    """
    same = "one measurement, taken over: " if row.one_measurement else ""
    figures = [each for each in row.figures if each is not None and has_interval(each)]
    plain = all(isinstance(each.claimed, float) for each in figures) and not row.asked_otherwise
    if not plain or len(figures) < len(cells) or any("unverified" in text for text in cells):
        otherwise = "measured otherwise: " if row.asked_otherwise else ""
        return f"claimed {row.claimed or 'nothing'}; {otherwise}{_in_turn(cells)}"
    said = [each.said for each in figures]
    numbers = [
        f"{fmt.number(float(each.measured or 0.0))} {fmt.interval(each.ci90)}" for each in figures
    ]
    if len(set(said)) == 1:
        return f"{same}{row.claimed} {said[0]}: {ARROW.join(map(fmt.unbroken, numbers))}"
    pairs = zip(said, numbers, strict=True)
    return f"{same}{row.claimed}: {ARROW.join(fmt.unbroken(f'{one} {two}') for one, two in pairs)}"


def _in_turn(cells: Sequence[str]) -> str:
    """Return what each report says, in their order; once where neighbours say the same."""
    runs = [(text, len([*equal])) for text, equal in groupby(cells)]
    if len(runs) == 1 and len(cells) > 1:
        return f"{'both' if len(cells) == 2 else f'all {len(cells)}'} {runs[0][0]}"
    return ARROW.join(f"{text} ({count} reports)" if count > 1 else text for text, count in runs)


def _title(view: ComparisonView, shown: Sequence[str]) -> str:
    more = [] if Standing.REST.value in shown else ["--all shows all"]
    if view.pairs and GPUS not in shown:
        pairs = counted(len(view.pairs), "workload")
        more.append(f"--only {GPUS} shows {pairs} that several GPU products ran")
    return "\n".join([*view.counts(), *([f"({'; '.join(more)})"] if more else [])])


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
