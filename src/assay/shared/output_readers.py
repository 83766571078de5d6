"""Figures read off what a command prints: words, JSON, CSV. Pure.

    GFLOPs: {value}              words and one number (``output_patterns``)
    json: runs[0].tflops         of the document that is printed, or of the last line that is one;
                                 ``[*]`` for every entry of a list
    csv: tflops                  the column under that heading

What is read may come with a project that a stranger wrote, as may the output: each takes a time
that grows with the output alone; nesting without end is no document.
"""

import csv
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, Protocol

from assay.shared.output_patterns import (
    LONGEST_LINE,
    LONGEST_PATTERN,
    MOST_TRIES,
    VALUE,
    BadPattern,
    Take,
    parse_pattern,
    taken,
)

LONGEST_OUTPUT = 2**21
"""Characters that are read as JSON; of each stream of a run half as many bytes are kept."""
_KIND = re.compile(r"(?P<kind>json|csv):")
_NAMED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,79})\}")
"""A figure's name among words."""
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
)
_STEP = re.compile(r"\.?(?P<key>[A-Za-z_][A-Za-z0-9_ /-]{0,79})|\[(?P<index>[0-9]{1,6}|\*)\]")


class OutputReader(Protocol):
    """What finds numbers in an output."""

    @property
    def text(self) -> str:
        """Return it as it is written."""

    def values(self, output: str, take: Take = Take.ALL) -> tuple[float, ...]:
        """Return the numbers that an output holds, in its order; none, or one but for ``ALL``."""


@cache
def parse_reader(text: str) -> OutputReader:
    """Return what reads a figure. Raises BadPattern for what is of no grammar here."""
    head = _KIND.match(text)
    if head is None:
        try:
            return parse_pattern(text)
        except BadPattern as error:
            raise BadPattern(f"{error}{_kind_meant(text)}") from error
    kind, rest = head["kind"], text[head.end() :].strip()
    if len(text) > LONGEST_PATTERN or not rest or "\n" in rest:
        raise BadPattern(f"'{text}' must name something, on one line of {LONGEST_PATTERN} letters")
    return _JsonReader(text, _steps(rest)) if kind == "json" else _CsvReader(text, rest)


def figure_reader(text: str, name: str) -> str:
    """Return what reads one figure of a pattern that finds several, by its name.

    ``{rate} TFLOP/s in {ms} ms`` has a name in braces for each, ``json: runs[0]`` has them as keys
    there, ``csv:`` as columns. Raises BadPattern.
    """
    head = _KIND.match(text)
    if head is None:
        names = _NAMED.findall(text)
        if names.count(name) != 1:
            says = f"'{text}' must hold {{{name}}} once, where that number stands"
            raise BadPattern(f"{says}{_kind_meant(text)}")
        found = text.replace(f"{{{name}}}", "\0")
        found = _NAMED.sub("*", found).replace("\0", VALUE)
    else:
        rest = text[head.end() :].strip()
        if head["kind"] == "csv":
            if rest:
                raise BadPattern(f"'{text}': 'csv:' alone, for its columns are named")
            found = f"csv: {name}"
        else:
            found = f"json: {rest}.{name}" if rest else f"json: {name}"
    return parse_reader(found).text


def _kind_meant(text: str) -> str:
    """Return which kind may be meant by words without a figure, as an addition to a sentence."""
    found = get_close_matches(text.partition(":")[0].lower(), ("json", "csv"), 1, 0.6)
    return f": did you mean '{found[0]}:'?" if found and ":" in text else ""


def _steps(text: str) -> tuple[str | int, ...]:
    """Return the steps of a path; "*" for every entry. Raises BadPattern."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise BadPattern(f"'{text}' is no path such as runs[0].tflops, from '{text[at:]}' on")
        index = found["index"]
        if index is None:
            steps.append(found["key"])
        else:
            steps.append("*" if index == "*" else int(index))
        at = found.end()
    return tuple(steps)


@dataclass(frozen=True)
class _JsonReader:
    text: str
    steps: tuple[str | int, ...]

    def values(self, output: str, take: Take = Take.ALL) -> tuple[float, ...]:
        found = (_number(value) for value in _at(_document(output), self.steps))
        return taken([value for value in found if value is not None], take)


@dataclass(frozen=True)
class _CsvReader:
    text: str
    column: str

    def values(self, output: str, take: Take = Take.ALL) -> tuple[float, ...]:
        return taken(list(self._found(output)), take)

    def _found(self, output: str) -> Iterator[float]:
        heading: list[str] | None = None
        for line in output.splitlines()[:MOST_TRIES]:
            if len(line) > LONGEST_LINE:
                continue
            cells = [cell.strip() for row in csv.reader([line]) for cell in row]
            if self.column in cells and _number(cells[cells.index(self.column)]) is None:
                heading = cells
            elif heading is not None and len(cells) == len(heading):
                value = _number(cells[heading.index(self.column)])
                if value is not None:
                    yield value
            elif cells:
                heading = None


def _document(output: str) -> Any:
    """Return the JSON that an output is, or that its last line of JSON is; None for none."""
    texts = [output, *reversed([line for line in output.splitlines() if line[:1] in "{["][-100:])]
    for text in texts:
        if len(text) > LONGEST_OUTPUT:
            continue
        try:
            return json.loads(text, parse_constant=lambda name: None)
        except (ValueError, RecursionError):
            continue
    return None


def _at(value: Any, steps: tuple[str | int, ...]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(value, list) and step == "*":
        for entry in value[:MOST_TRIES]:
            yield from _at(entry, rest)
        return
    holder: Any = value if isinstance(value, dict | list) else {}
    try:
        below = holder[step]
    except (KeyError, IndexError, TypeError):
        return
    yield from _at(below, rest)


def _number(value: Any) -> float | None:
    """Return a number, or a text that is one; None for anything else, and what is not finite."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        value = float(text) if _NUMBER.fullmatch(text) else None
    if not isinstance(value, int | float) or abs(value) > 1e300:
        return None
    return float(value) if math.isfinite(value) else None
