"""Figures read off what a command prints: words, JSON, CSV. Pure.

    GFLOPs: {value}              words and one number
    json: runs[0].tflops         of the document that is printed, or of the last line that is one;
                                 ``[*]`` for every entry of a list
    csv: tflops                  the column under that heading

Among words, characters stand for themselves, upper and lower case told apart; a run of blanks for
one or more; ``*`` for anything on the line, the least that will do; ``{value}``, once, for a
decimal number. It is no regular expression, on purpose. What is read may come with a project that a
stranger wrote, as may the output: each takes a time that grows with the output alone; nesting
without end is no document.
"""

import csv
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import cache, cached_property
from typing import Any

LONGEST_PATTERN = 200
MOST_STARS = 8
LONGEST_LINE = 4096
"""Characters; what a longer line holds is not looked at."""
LONGEST_OUTPUT = 2**21
"""Characters that are read as JSON; of each stream of a run half as many bytes are kept."""
MOST_ENTRIES = 20_000
"""Lines that are read as CSV, and entries of one list in JSON."""
VALUE = "{value}"
_NUMBER = r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
_NO_PART_BEFORE = r"(?<![0-9A-Za-z_.+-])"
"""Part of another number, or of a name; a pattern that names what stands before may name these."""
_NO_NAME_BEHIND = r"(?![0-9A-Za-z_])"
"""1.5x and 27e are no numbers, unless the pattern names what follows."""
_NO_GROUP_BEFORE, _NO_GROUP_BEHIND = r"(?<![0-9][.,])", r"(?![.,][0-9])"
"""The 1 of 1,234.5 is no number, nor its 234.5, nor any of 12.5.6: nobody knows how it is meant."""
_KIND = re.compile(r"(?P<kind>json|csv):")
_STEP = re.compile(r"\.?(?P<key>[A-Za-z_][A-Za-z0-9_ /-]{0,79})|\[(?P<index>[0-9]{1,6}|\*)\]")


class Take(StrEnum):
    """Which of several numbers of one output counts."""

    FIRST = "first"
    LAST = "last"
    MIN = "min"
    MAX = "max"
    ONLY = "only"
    """The one number that there is: several that differ tell nobody which of them it is."""
    ALL = "all"

    def of(self, found: list[float]) -> tuple[float, ...]:
        """Return those of an output's numbers that count; of ``ONLY`` each once."""
        if not found or self is Take.ALL:
            return tuple(found)
        if self is Take.ONLY:
            return tuple(dict.fromkeys(found))
        ends = {Take.FIRST: found[0], Take.LAST: found[-1]}
        return (ends[self] if self in ends else (min if self is Take.MIN else max)(found),)


class BadPattern(ValueError):
    """A pattern that is not of the grammar; the text says why."""


@cache
def parse_reader(text: str) -> "OutputReader":
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


def _kind_meant(text: str) -> str:
    """Return which kind may be meant by words without a figure, as an addition to a sentence."""
    found = get_close_matches(text.partition(":")[0].lower(), ("json", "csv"), 1, 0.6)
    return f": did you mean '{found[0]}:'?" if found and ":" in text else ""


@cache
def parse_pattern(text: str) -> "OutputReader":
    """Return a pattern. Raises BadPattern for what is not of the grammar."""
    if len(text) > LONGEST_PATTERN:
        raise BadPattern(f"a pattern has at most {LONGEST_PATTERN} characters, not {len(text)}")
    if "\n" in text or "\r" in text:
        raise BadPattern("a pattern is looked for on one line")
    if text.count(VALUE) != 1:
        raise BadPattern(f"'{text}' must hold {VALUE} once, where the number stands")
    if text.count("*") > MOST_STARS:
        raise BadPattern(f"'{text}' has more than {MOST_STARS} stars")
    before, after = text.split(VALUE)
    if not (before + after).replace("*", "").strip():
        raise BadPattern(f"'{text}' names nothing that tells its number from any other")
    if before.endswith("*") or after.startswith("*"):
        raise BadPattern(f"'{text}': words or a blank must stand between {VALUE} and a star")
    return _WordsReader(text, _literals(before), _literals(after))


def _literals(text: str) -> tuple[str, ...]:
    return tuple(_plain(part) for part in text.split("*"))


def _plain(text: str) -> str:
    return re.sub(r" *\t[ \t]*|  +", " ", text)


@dataclass(frozen=True)
class _WordsReader:
    text: str
    before: tuple[str, ...]
    """What stands before the number: literals, between which anything may stand."""
    after: tuple[str, ...]

    def values(self, output: str, take: Take = Take.ALL) -> tuple[float, ...]:
        lines = _plain(output.replace("\r", "\n")).split("\n")
        found = (self._on(line) for line in lines if len(line) <= LONGEST_LINE)
        return take.of([value for value in found if value is not None])

    @cached_property
    def _number(self) -> re.Pattern[str]:
        """What finds a number with the words that stand at it, without going back."""
        before, behind = re.escape(self.before[-1]), re.escape(self.after[0])
        return re.compile(
            f"{before or _NO_PART_BEFORE}{_NO_GROUP_BEFORE}(?=(?P<number>{_NUMBER}))(?P=number)"
            f"{_NO_GROUP_BEHIND}{behind or _NO_NAME_BEHIND}"
        )

    def _on(self, line: str) -> float | None:
        """Return the number of a line; None where it has none, or one too large for a float.

        All other words before it pass as early as they can, those behind it as late as they can.
        """
        first, last = 0, len(line)
        for literal in self.before[:-1]:
            if (found := line.find(literal, first)) < 0:
                return None
            first = found + len(literal)
        for literal in reversed(self.after[1:]):
            if (last := line.rfind(literal, 0, last)) < 0:
                return None
        for match in self._number.finditer(line, first):
            if match.end() > last:
                return None
            if math.isfinite(value := float(match["number"])):
                return value
        return None


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
        return take.of([value for value in found if value is not None])


@dataclass(frozen=True)
class _CsvReader:
    text: str
    column: str

    def values(self, output: str, take: Take = Take.ALL) -> tuple[float, ...]:
        return take.of(list(self._found(output)))

    def _found(self, output: str) -> Iterator[float]:
        heading: list[str] | None = None
        for line in output.splitlines()[:MOST_ENTRIES]:
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


OutputReader = _WordsReader | _JsonReader | _CsvReader
"""What finds numbers in an output, as ``text`` says: none, or one but for ``Take.ALL``."""


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
        for entry in value[:MOST_ENTRIES]:
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
        value = float(text) if re.fullmatch(_NUMBER, text) else None
    if not isinstance(value, int | float) or abs(value) > 1e300:
        return None
    return float(value) if math.isfinite(value) else None
