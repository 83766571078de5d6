"""Tables that fit: a narrow terminal shows fewer columns, and no id is ever broken.

Without a terminal a table is text for programs: a line of headings, then one record a line, its
cells apart by tabs, every column there. What people read beside it goes to standard error.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.base.printable import folded, shown_line

PROSE_WIDTH = 20
"""Characters below which a column of sentences is left out rather than squeezed."""
INDENT = "  "
Row = Sequence[str]


@dataclass(frozen=True)
class TableColumn:
    """One column, and what becomes of it where a terminal is narrow."""

    heading: str
    rank: int = 0
    """The highest rank is left out first; what has rank 0 is always shown."""
    number: bool = False
    """Whether it stands to the right."""
    prose: bool = False
    """Whether its cells may be broken between words; a word never is."""


def show_table(
    out: Console,
    err: Console,
    title: str,
    columns: Sequence[TableColumn],
    rows: Sequence[Row],
    *,
    more: str = "a wider terminal or a pipe shows all",
) -> None:
    """Print ``rows`` to ``out`` as its width allows; ``more`` says where the left out columns are.

    ``title`` stands above, on ``err`` where ``out`` is no terminal.
    """
    rows = [[_one_line(cell) for cell in row] for row in rows]
    columns = [replace(column, heading=_one_line(column.heading)) for column in columns]
    shown = is_terminal(out)
    for line in title.splitlines():
        show_line(out if shown else err, line)
    if not shown:
        lines = [[column.heading for column in columns], *rows]
        out.file.writelines("\t".join(line) + "\n" for line in lines)
        return
    widths = fit(columns, rows, out.width)
    if widths is None:
        _show_records(out, columns, rows)
        return
    out.print(_drawn(columns, rows, widths), markup=False)
    left = [columns[i].heading for i in range(len(columns)) if i not in widths]
    if left:
        show_line(out, f"left out for want of width: {', '.join(left)} ({more})")


def is_terminal(console: Console) -> bool:
    """Return whether a person sees what the console prints, and not a program; colours do not
    matter.
    """
    return console.file.isatty()


def fit(columns: Sequence[TableColumn], rows: Sequence[Row], width: int) -> dict[int, int] | None:
    """Width of each column that is shown, by its number; None where not even rank 0 fits.

    Columns are left out by rank, highest first. What room is left over goes to the columns of
    prose, up to what their longest cell takes.
    """
    cells = [[column.heading, *(row[i] for row in rows)] for i, column in enumerate(columns)]
    least = [_least(column, texts) for column, texts in zip(columns, cells, strict=True)]
    ranks = sorted({column.rank for column in columns}, reverse=True)
    for most in ranks:
        shown = [i for i, column in enumerate(columns) if column.rank <= most]
        spare = width - _borders(len(shown)) - sum(least[i] for i in shown)
        if spare < 0:
            continue
        widths = {i: least[i] for i in shown}
        full = {i: max(map(cell_len, cells[i])) for i in shown if columns[i].prose}
        while spare and (tight := [i for i in full if widths[i] < full[i]]):
            widths[max(tight, key=lambda i: full[i] / widths[i])] += 1
            spare -= 1
        return widths
    return None


def _least(column: TableColumn, cells: Sequence[str]) -> int:
    """Characters that a column needs: its longest cell, or of prose its longest word."""
    if not column.prose:
        heading, *texts = cells
        return max(_longest_word([heading]), *map(cell_len, texts), 1)
    return max(_longest_word(cells), min(PROSE_WIDTH, max(map(cell_len, cells))))


def _longest_word(texts: Sequence[str]) -> int:
    return max((cell_len(word) for text in texts for word in text.split()), default=1)


def _borders(count: int) -> int:
    """Characters of a row that are no cell: a line before each, one behind, a space either side."""
    return 3 * count + 1


def _drawn(columns: Sequence[TableColumn], rows: Sequence[Row], widths: dict[int, int]) -> Table:
    table = Table()
    for i, width in widths.items():
        justify = "right" if columns[i].number else "left"
        heading = Text(columns[i].heading)  # a text of its own: nothing in it is markup
        table.add_column(heading, width=width, justify=justify)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(row[i]) for i in widths))
    return table


def _show_records(out: Console, columns: Sequence[TableColumn], rows: Sequence[Row]) -> None:
    """Each record as lines of its own, for terminals too narrow for any table."""
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            head = column is columns[0]
            text = cell if head else f"{column.heading}: {cell}"
            show_line(out, text if head else f"{INDENT}{text}", 0 if head else 2 * len(INDENT))


def _one_line(cell: str) -> str:
    return shown_line(" ".join(cell.split()))


def show_line(to: Console, text: str, indent: int = 2) -> None:
    """Print a line, at a terminal folded between words."""
    width = to.width if is_terminal(to) else None
    to.print("\n".join(folded(shown_line(text), width, indent)), markup=False, soft_wrap=True)
