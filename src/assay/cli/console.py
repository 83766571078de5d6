"""The output of the command line: results on standard output, progress on standard error."""

import errno
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.base.printable import folded, shown, shown_json, shown_line, shown_sentence
from assay.base.typed_command import as_typed

PROSE_WIDTH = 20
"""Characters of a column of sentences at least."""
WIDE = 10_000
"""More characters than any table has."""


class PlainConsole(Console):
    """A console that shows every character of a text and obeys none of them."""

    def __init__(self, **options: Any) -> None:
        """As any console, but that ``:skull:`` stays what it is, and that NO_COLOR leaves nothing
        bold or dim either.
        """
        plain = {"color_system": None} if os.environ.get("NO_COLOR") else {}
        super().__init__(**{"emoji": False, **plain, **options})

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as any console; texts through ``shown``, whoever wrote them."""
        super().print(*(shown(o) if isinstance(o, str) else o for o in objects), **options)

    def on_broken_pipe(self) -> None:
        """Leave it to the end of the command line to say that nobody reads what is printed."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


out = PlainConsole(highlight=False)
err = PlainConsole(stderr=True, highlight=False)


def say(text: str, *, indent: int = 2) -> None:
    """A line of the result, at a terminal folded between words; nothing in it is markup."""
    show_line(out, as_typed(text), indent)


def note(text: str) -> None:
    """A line that is no result, likewise, to standard error."""
    show_line(err, as_typed(text))


def say_line(text: str) -> None:
    """A line to be pasted: never folded, however long."""
    out.print(shown_line(text), markup=False, soft_wrap=True)


def show_error(sentence: str) -> None:
    """Print what is wrong, to standard error."""
    width = err.width if is_terminal(err) else None
    err.print(shown_sentence(f"assay: {as_typed(sentence)}", width), markup=False, soft_wrap=True)


def show_json(value: object) -> None:
    """A result for programs."""
    sys.stdout.write(shown_json(value) + "\n")


@dataclass(frozen=True)
class TableColumn:
    """One column of a table."""

    heading: str
    prose: bool = False
    """Whether its cells may be broken between words; all others are never broken."""


def show_table(title: str, columns: Sequence[TableColumn], rows: Sequence[Sequence[str]]) -> None:
    """Print rows: at a terminal as a table, or two lines a row where it is too narrow for one.

    For programs it is a line of headings and a line a row, cells apart by tabs; the title, which
    they have no use for, goes to standard error.
    """
    cells = [[shown_line(" ".join(cell.split())) for cell in row] for row in rows]
    terminal = is_terminal(out)
    for line in title.splitlines():
        show_line(out if terminal else err, line)
    heads = [shown_line(column.heading) for column in columns]
    if not terminal:
        out.file.writelines("\t".join(line) + "\n" for line in (heads, *cells))
        return
    table = _table(columns, heads, cells)
    if table.__rich_measure__(out, out.options.update_width(WIDE)).minimum <= out.width:
        out.print(table, markup=False)
        return
    for first, *others in cells:
        show_line(out, first)
        told = (f"{head}: {cell}" for head, cell in zip(heads[1:], others, strict=True) if cell)
        show_line(out, f"    {'; '.join(told)}", 4)


def _table(columns: Sequence[TableColumn], heads: list[str], rows: Sequence[list[str]]) -> Table:
    table = Table()
    for number, (column, head) in enumerate(zip(columns, heads, strict=True)):
        longest = max((cell_len(row[number]) for row in rows), default=0)
        least = min(PROSE_WIDTH, longest) if column.prose else longest
        table.add_column(Text(head), min_width=max(least, cell_len(head)), no_wrap=not column.prose)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def is_terminal(console: Console) -> bool:
    """Return whether a person sees what the console prints, and not a program."""
    return console.file.isatty()


def show_line(to: Console, text: str, indent: int = 2) -> None:
    """Print a line, at a terminal folded between words."""
    width = to.width if is_terminal(to) else None
    to.print("\n".join(folded(shown_line(text), width, indent)), markup=False, soft_wrap=True)
