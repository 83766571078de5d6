"""Lines of a compiler's output that state errors, bounded and printable. Pure."""

import re

from assay.base.printable import shown_line
from assay.records.file_compiles import LONGEST_LINE, MOST_LINES

MOST_OUTPUT = 2**22
"""Characters of the compiler's output that are looked at."""
_ERRORS = re.compile(
    r"\S.{0,400}?\(\d+\): (?:catastrophic |internal )?error\b"  # nvcc's front end
    r"|\S.{0,400}?:\d+(?::\d+)?: (?:fatal |internal compiler )?error:"  # the host's compiler
    r"|(?:ptxas|nvcc|cicc|nvlink|fatbinary|cudafe\+\+|g\+\+|gcc|cc1plus|as|ld)\b"
    r".{0,400}?\b(?:error|fatal)\b"
)
"""Lines that state an error. What is quoted of a file is indented, and so is no such line."""


def first_errors(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the first lines of a compiler's output that state errors, and whether that is less
    than all that it states.

    What is no printable ASCII stands as an escape.
    """
    stated = [line.rstrip() for line in text.splitlines() if _ERRORS.match(line)]
    spelled = [_spelled(line) for line in stated]
    kept = tuple(line[:LONGEST_LINE] for line in spelled[:MOST_LINES])
    whole = len(text) < MOST_OUTPUT and len(spelled) <= MOST_LINES
    return kept, not (whole and all(len(line) <= LONGEST_LINE for line in spelled))


def _spelled(line: str) -> str:
    plain = line.replace("\t", " ").encode("ascii", "backslashreplace").decode("ascii")
    return shown_line(plain)
