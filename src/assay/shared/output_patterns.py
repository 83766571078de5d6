"""Patterns that read figures off a program's output: text, one ``{value}``, and ``*``. Pure.

``GFLOPs: {value}`` finds the number behind those words wherever a line has them. The grammar:
characters as they stand, upper and lower case alike told apart; a run of blanks stands for one or
more; ``*`` for anything on the line, the least that will do; ``{value}``, once, for a decimal
number. It is no regular expression, on purpose: a pattern may come with a checkout or a project
that a stranger wrote, and nothing that can be written in it, or printed, takes more than a few
scans of the output.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

LONGEST_PATTERN = 200
MOST_STARS = 8
LONGEST_LINE = 4096
"""Characters; what a longer line holds is not looked at."""
VALUE = "{value}"
MOST_TRIES = 20_000
"""Numbers of one output that are looked at; of an output with more to look at, none is taken."""
_NUMBER = r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
_NO_PART_BEFORE = r"(?<![0-9A-Za-z_.+-])"
"""Part of another number, or of a name; a pattern that names what stands before may name these."""
_NO_NAME_BEHIND = r"(?![0-9A-Za-z_])"
"""1.5x and 27e are no numbers, unless the pattern names what follows."""
_NO_GROUP_BEFORE, _NO_GROUP_BEHIND = r"(?<![0-9][.,])", r"(?![.,][0-9])"
"""The 1 of 1,234.5 is no number, nor its 234.5, nor any of 12.5.6: nobody knows how it is meant."""


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
        return taken(self._found(_plain(output.replace("\r", "\n"))), take)

    def _found(self, text: str) -> list[float]:
        """Return the number of each line that has one.

        The text is scanned once for numbers between the words beside them. What else a pattern
        asks of a line is a place on it, before and behind which a number may not be.
        """
        number, found = self._number(), list[float]()
        at, tries, line, first, last = 0, 0, _Line(0, -1), 0, 0
        while (match := number.search(text, at)) is not None:
            tries += 1
            if tries > MOST_TRIES:
                return []
            if match.start() > line.end:
                line = _line_of(text, match.start())
                first, last = self._between(text, line)
            if match.start() < first:
                at = first
            elif match.end() > last:
                at = line.end + 1
            elif abs(value := float(match.group("number"))) == float("inf"):
                at = match.start() + 1
            else:
                found.append(value)
                at = line.end + 1
        return found

    def _number(self) -> re.Pattern[str]:
        """Return what finds a number with the words that stand at it, without going back."""
        before, behind = re.escape(self.before[-1]), re.escape(self.after[0])
        return re.compile(
            f"{before or _NO_PART_BEFORE}{_NO_GROUP_BEFORE}(?=(?P<number>{_NUMBER}))(?P=number)"
            f"{_NO_GROUP_BEHIND}{behind or _NO_NAME_BEHIND}"
        )

    def _between(self, text: str, line: "_Line") -> tuple[int, int]:
        """Return where on a line words and number may begin, and where they must have ended.

        All other words before them have passed by the first place, as early as they can; from the
        last one on the others follow, as late as they can. No place for a line that lacks them.
        """
        nowhere = line.end, line.begin
        if line.end - line.begin > LONGEST_LINE:
            return nowhere
        first, last = line.begin, line.end
        for literal in self.before[:-1]:
            found = text.find(literal, first, line.end)
            if found < 0:
                return nowhere
            first = found + len(literal)
        for literal in reversed(self.after[1:]):
            last = text.rfind(literal, line.begin, last)
            if last < 0:
                return nowhere
        return first, last


def taken(found: list[float], take: Take) -> tuple[float, ...]:
    """Return those of an output's numbers that count; of ``ONLY`` each once."""
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


@dataclass(frozen=True)
class _Line:
    """Where a line begins, and where its end is."""

    begin: int
    end: int


def _line_of(text: str, at: int) -> _Line:
    end = text.find("\n", at)
    return _Line(text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end)


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
    return re.sub(r" *\t[ \t]*|  +", " ", text)
