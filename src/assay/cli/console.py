"""The output of the command line: results on standard output, progress on standard error."""

import errno
import os
import sys
from typing import Any

from rich.console import Console

from assay.base.printable import shown, shown_json, shown_line, shown_sentence
from assay.base.typed_command import as_typed
from assay.cli.tables import is_terminal, show_line


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
