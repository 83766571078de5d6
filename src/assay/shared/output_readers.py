"""Figures read off what a command prints: words, regular expressions, JSON, CSV. Pure.

    GFLOPs: {value}              words and one number (``output_patterns``)
    regex: rate=(?P<value>\\S+)   a named group ``value``: the first match of each line
    regex[ms]: (?P<ms>\\S+) ms     another group, where there are several
    json: runs[0].tflops         of the document that is printed, or of the last line that is one;
                                 ``[*]`` for every entry of a list
    csv: tflops                  the column under that heading

What is read may come with a project that a stranger wrote, as may the output: each takes a time
that grows with the output alone (``linear_regex``); nesting without end is no document.
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

from assay.shared.linear_regex import (
    MOST_STEPS,
    BadRegex,
    LinearRegex,
    StepsLeft,
    TooManySteps,
    parse_regex,
)
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
VALUE_GROUP = "value"
_KIND = re.compile(r"(?P<kind>regex|json|csv)(?:\[(?P<group>[A-Za-z_][A-Za-z0-9_]{0,79})\])?:")
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


def gives_up(reader: OutputReader, output: str) -> bool:
    """Return whether a reader takes nothing of an output since its search would take too long."""
    return isinstance(reader, _RegexReader) and reader.gives_up(output)


@cache
def parse_reader(text: str) -> OutputReader:
    """Return what reads a figure. Raises BadPattern for what is of no grammar here."""
    head = _KIND.match(text)
    if head is None:
        try:
            return parse_pattern(text)
        except BadPattern as error:
            raise BadPattern(f"{error}{_kind_meant(text)}") from error
    kind, group, rest = head["kind"], head["group"], text[head.end() :].strip()
    if group is not None and kind != "regex":
        raise BadPattern(f"'{text}': a group is of a regular expression, and of no {kind}")
    if len(text) > LONGEST_PATTERN or not rest or "\n" in rest:
        raise BadPattern(f"'{text}' must name something, on one line of {LONGEST_PATTERN} letters")
    if kind == "regex":
        return _RegexReader(text, _regex(rest, group or VALUE_GROUP), group or VALUE_GROUP)
    return _JsonReader(text, _steps(rest)) if kind == "json" else _CsvReader(text, rest)


def figure_reader(text: str, name: str) -> str:
    """Return what reads one figure of a pattern that finds several, by its name.

    ``regex: (?P<rate>..) (?P<ms>..)`` has a group for each, ``{rate} TFLOP/s in {ms} ms`` a name in
    braces, ``json: runs[0]`` has them as keys there, ``csv:`` as columns. Raises BadPattern.
    """
    head = _KIND.match(text)
    if head is not None and head["group"] is not None:
        raise BadPattern(f"'{text}': its figures are named apart, and no group here")
    if head is None:
        names = _NAMED.findall(text)
        if names.count(name) != 1:
            says = f"'{text}' must hold {{{name}}} once, where that number stands"
            raise BadPattern(f"{says}{_kind_meant(text)}")
        found = text.replace(f"{{{name}}}", "\0")
        found = _NAMED.sub("*", found).replace("\0", VALUE)
    else:
        rest = text[head.end() :].strip()
        if head["kind"] == "regex":
            found = f"regex[{name}]: {rest}"
        elif head["kind"] == "csv":
            if rest:
                raise BadPattern(f"'{text}': 'csv:' alone, for its columns are named")
            found = f"csv: {name}"
        else:
            found = f"json: {rest}.{name}" if rest else f"json: {name}"
    return parse_reader(found).text


def _kind_meant(text: str) -> str:
    """Return which kind may be meant by words without a figure, as an addition to a sentence."""
    found = get_close_matches(text.partition(":")[0].lower(), ("regex", "json", "csv"), 1, 0.6)
    return f": did you mean '{found[0]}:'?" if found and ":" in text else ""


def _regex(text: str, group: str) -> LinearRegex:
    try:
        found = parse_regex(text)
    except BadRegex as error:
        raise BadPattern(str(error)) from error
    if group not in found.groups:
        named = f"; its groups are {', '.join(sorted(found.groups))}" if found.groups else ""
        raise BadPattern(f"'{text}' has no group (?P<{group}>...), which is the figure{named}")
    return found


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
class _RegexReader:
    text: str
    regex: LinearRegex
    group: str

    def values(self, output: str, take: Take = Take.ALL) -> tuple[float, ...]:
        """As the protocol has it; nothing where the search would take too many steps."""
        try:
            return taken(list(self._found(output)), take)
        except TooManySteps:
            return ()

    def gives_up(self, output: str) -> bool:
        """Return whether the search of an output takes more steps than it may."""
        try:
            return not all(True for _ in self._found(output))
        except TooManySteps:
            return True

    def _found(self, output: str) -> Iterator[float]:
        steps = StepsLeft(MOST_STEPS)
        for number, line in enumerate(output.splitlines()):
            if number >= MOST_TRIES:
                return
            found = self.regex.first(line, steps) if len(line) <= LONGEST_LINE else None
            value = _number(found.get(self.group)) if found else None
            if value is not None:
                yield value


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
