"""The output of the command line: results on standard output, progress on standard error."""

import shutil
import sys
from collections.abc import Sequence
from typing import NamedTuple

from assay.base.printable import shown_json, shown_line
from assay.base.progress import as_typed, show_line

PROSE_WIDTH = 20  # characters of a column of sentences at least
WIDE = 10_000


def say(text: str) -> None:
    """A line of the result."""
    show_line(as_typed(text), sys.stdout)


def note(text: str) -> None:
    """A line that is no result, likewise, to standard error."""
    show_line(as_typed(text))


def show_json(value: object) -> None:
    """A result for programs."""
    sys.stdout.write(shown_json(value) + "\n")


class TableColumn(NamedTuple):
    """One column of a table."""

    heading: str
    prose: bool = False
    """Whether its cells may be broken between words; all others are never broken."""
    alone: bool = False
    """Whether a cell has a line of its own where there is no room for a table."""


def show_table(title: str, columns: Sequence[TableColumn], rows: Sequence[Sequence[str]]) -> None:
    """Print rows: at a terminal as a table, or some lines a row where that is too narrow; for
    programs a line of headings and one a row, apart by tabs, with the title on standard error.
    """
    cells = [[shown_line(" ".join(cell.split())) for cell in row] for row in rows]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in title.splitlines():
        show_line(line, sys.stdout if width else sys.stderr)
    heads = [shown_line(column.heading) for column in columns]
    if not width:
        sys.stdout.writelines("\t".join(line) + "\n" for line in (heads, *cells))
        return
    # It takes a tenth of a second to load, and only a table at a terminal needs it.
    from rich.cells import cell_len  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console, table = Console(file=sys.stdout, width=width, emoji=False, highlight=False), Table()
    for number, (column, head) in enumerate(zip(columns, heads, strict=True)):
        longest = max((cell_len(row[number]) for row in cells), default=0)
        least = min(PROSE_WIDTH, longest) if column.prose else longest
        table.add_column(Text(head), min_width=max(least, cell_len(head)), no_wrap=not column.prose)
    for row in cells:
        table.add_row(*map(Text, row))
    if table.__rich_measure__(console, console.options.update_width(WIDE)).minimum <= width:
        console.print(table, markup=False)
        return
    for first, *others in cells:
        text = first
        for column, head, cell in zip(columns[1:], heads[1:], others, strict=True):
            apart = "\n    " if column.alone or text == first else "; "
            text += f"{apart}{head}: {cell}" if cell else ""
        for line in text.split("\n"):
            show_line(line, sys.stdout)
