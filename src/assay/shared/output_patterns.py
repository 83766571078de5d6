"""Patterns that read figures off a program's output: text, one ``{value}``, and ``*``. Pure.

``GFLOPs: {value}`` finds the number behind those words wherever a line has them. The grammar:
characters as they stand, upper and lower case alike told apart; a run of blanks stands for one or
more; ``*`` for anything on the line, the least that will do; ``{value}``, once, for a decimal
number. It is no regular expression, on purpose: a pattern may come with a checkout or a project
that a stranger wrote, and nothing that can be written in it takes more than a scan of the line for
each place where the number may stand.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

LONGEST_PATTERN = 200
MOST_STARS = 8
LONGEST_LINE = 4096
"""Characters; what a longer line holds is not looked at."""
VALUE = "{value}"
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
)
_WITHIN = re.compile(r"[0-9A-Za-z_.+-]")
"""What must not stand before a number: part of another one, or of a name."""


class Take(StrEnum):
    """Which of several numbers of one output counts."""

    FIRST = "first"
    LAST = "last"
    MIN = "min"
    MAX = "max"
    ONLY = "only"
    """The one number that there is: several that differ tell nobody which of them it is."""
    ALL = "all"


class BadPattern(ValueError):
    """A pattern that is not of the grammar; the text says why."""


@dataclass(frozen=True)
class OutputPattern:
    """A pattern that was found to be of the grammar."""

    text: str
    before: tuple[str, ...]
    """What stands before the number: literals, between which anything may stand."""
    after: tuple[str, ...]
    """What stands behind it, likewise."""

    def values(self, output: str, take: Take = Take.ALL) -> tuple[float, ...]:
        """Return the numbers that an output holds, in its order; none, or one but for ``ALL``.

        Of ``ONLY`` each number once: more than one are several figures, and none of them counts.
        A line counts once. A number too large for a float is none.
        """
        found = [value for line in output.splitlines() for value in self._in_line(line)]
        if not found or take is Take.ALL:
            return tuple(found)
        if take is Take.ONLY:
            return tuple(dict.fromkeys(found))
        chosen = {
            Take.FIRST: found[0],
            Take.LAST: found[-1],
            Take.MIN: min(found),
            Take.MAX: max(found),
        }
        return (chosen[take],)

    def _in_line(self, line: str) -> Iterator[float]:
        if len(line) > LONGEST_LINE:
            return
        text = _plain(line)
        *leading, last = self.before
        start = _behind(text, leading, 0)
        while start is not None:
            at = text.find(last, start)
            if at < 0:
                return
            number = _NUMBER.match(text, at + len(last))
            if number is not None and self._fits(text, number.start(), number.end(), bool(last)):
                value = float(number.group())
                if abs(value) != float("inf"):
                    yield value
                    return
            start = at + 1
            if start > len(text):
                return

    def _fits(self, text: str, begin: int, end: int, after_words: bool) -> bool:
        """Whether a number is a whole one and what follows it is what the pattern says."""
        if not after_words and begin and _WITHIN.match(text[begin - 1]):
            return False
        first, *rest = self.after
        if not text.startswith(first, end):
            return False
        if not first and end < len(text) and re.match(r"[0-9A-Za-z_]", text[end]):
            # 1.5x and 27e are no numbers, unless the pattern names what follows.
            return False
        return _behind(text, rest, end + len(first)) is not None


@cache
def parse_pattern(text: str) -> OutputPattern:
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
    return OutputPattern(text, _literals(before), _literals(after))


def _literals(text: str) -> tuple[str, ...]:
    return tuple(_plain(part) for part in text.split("*"))


def _plain(text: str) -> str:
    return re.sub(r"[ \t]+", " ", text)


def _behind(text: str, literals: list[str], start: int) -> int | None:
    """Where the text goes on behind all literals, found one after the other; None without one."""
    for literal in literals:
        at = text.find(literal, start)
        if at < 0:
            return None
        start = at + len(literal)
    return start
