"""Regular expressions whose search takes a time that grows with text and pattern alone. Pure.

A pattern may come with a project or a report that a stranger wrote, and Python's own search may
take for ever on some. So a pattern is read by Python's parser, and run here by stepping through the
text once with all states that it may be in (Thompson's construction, the first alternative before
the others, as Python has it). What needs going back is refused: references to groups, and looking
ahead or behind.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

_parser: Any = re._parser  # type: ignore[attr-defined]
LONGEST = 200
"""Characters of a pattern."""
MOST_STATES = 200
"""Of a pattern with its counted repetitions written out: a search takes as many steps a character,
at worst."""

MOST_STEPS = 16_000_000
"""That a search over one output takes, which is some three seconds. A megabyte of lines that each
hold a figure takes 9 million where the pattern begins with ``.*``, and some 4 million else."""
KEPT = 0x400
"""Characters below this one are tested once: the Latin, Greek and punctuation of outputs."""

Test = Callable[[str], bool]


class _Characters(dict[str, bool]):
    """Whether a character passes a test; of common characters it is kept."""

    def __init__(self, test: Test) -> None:
        super().__init__()
        self.test = test

    def __missing__(self, character: str) -> bool:
        passes = self.test(character)
        if ord(character) < KEPT:
            self[character] = passes
        return passes


_AROUND = "looking ahead or behind"
_NOT_SEARCHED = {
    "ASSERT": _AROUND,
    "ASSERT_NOT": _AROUND,
    "GROUPREF": "a reference to a group",
    "GROUPREF_EXISTS": "a choice by a group",
}
"""What people call operators that take a time which grows beyond the output."""


class BadRegex(ValueError):
    """A regular expression that is none, or not one that is searched for here."""


@dataclass(frozen=True)
class _Step:
    """One instruction: take a character that passes, split, note a place, or ask for an edge."""

    kind: str
    test: "_Characters | None" = None
    to: int = 0
    other: int = 0
    number: int = 0


class TooManySteps(Exception):
    """A search that was given up: it took more steps than it had."""


@dataclass
class StepsLeft:
    """How many steps a search, or several of them together, may still take."""

    left: int

    def take(self, count: int) -> None:
        """Count steps that were taken. Raises TooManySteps."""
        self.left -= count
        if self.left < 0:
            raise TooManySteps


@dataclass(frozen=True)
class LinearRegex:
    """A pattern that can be searched for."""

    text: str
    program: tuple[_Step, ...]
    groups: dict[str, int]
    """Named groups, and their numbers."""
    taking: tuple[tuple["_Characters | None", int, bool], ...]
    """Of each instruction: what it takes, the one behind it, and whether that takes nothing."""
    begins: dict[str, bool] = field(default_factory=dict, compare=False)
    """Of characters that were seen: whether a match can begin with them."""

    def first(self, line: str, steps: StepsLeft | None = None) -> dict[str, str] | None:
        """Return the named groups of the first match in a line. Raises TooManySteps where it would
        take more than ``steps``, which it takes from.
        """
        return next(self.finds(line, steps), None)

    def finds(self, line: str, steps: StepsLeft | None = None) -> Iterator[dict[str, str]]:
        """Yield the named groups of each match in a line, from left to right.

        Each may look at the rest of the line once. Raises TooManySteps as ``first``.
        """
        start = 0
        steps = steps or StepsLeft(MOST_STEPS)
        while start <= len(line):
            found = self._match(line, start, steps)
            if found is None:
                return
            slots = found
            yield {
                name: line[slots[2 * number] : slots[2 * number + 1]]
                for name, number in self.groups.items()
                if slots.get(2 * number) is not None and slots.get(2 * number + 1) is not None
            }
            start = max(slots[1], slots[0] + 1)

    def _match(self, line: str, start: int, steps: StepsLeft) -> dict[int, int] | None:
        """Return the places of the leftmost match from ``start`` on."""
        program = self.taking
        threads: dict[int, dict[int, int]] = {}
        seen: set[int] = set()
        found: dict[int, int] | None = None
        for at in range(start, len(line) + 1):
            if found is None and (threads or at == len(line) or self._may_begin(line[at])):
                self._add(threads, seen, 0, at, line, {0: at})
            character = line[at] if at < len(line) else None
            following: dict[int, dict[int, int]] = {}
            reached: set[int] = set()
            for state, slots in threads.items():
                test, to, leads_on = program[state]
                if test is None:  # the match
                    found = {**slots, 1: at}
                    break  # what stands behind is of lower priority
                if character is None or not test[character]:
                    continue
                if leads_on:
                    self._add(following, reached, to, at + 1, line, slots)
                elif to not in reached:
                    reached.add(to)
                    following[to] = slots
            steps.take(len(seen) + len(threads) + 1)
            threads, seen = following, reached
            if found is not None and not threads:
                break
        return found

    def _may_begin(self, character: str) -> bool:
        """Return whether a match can begin with a character, or be empty; edges are not asked."""
        if ord(character) >= KEPT:
            return True
        if character not in self.begins:
            waiting, seen = [0], set[int]()
            while waiting:
                here = waiting.pop()
                step = self.program[here]
                if here in seen:
                    continue
                seen.add(here)
                if step.kind == "match" or (step.test is not None and step.test[character]):
                    break
                if step.test is None:
                    waiting += [step.to, step.other] if step.kind == "split" else [step.to]
            else:
                self.begins[character] = False
                return False
            self.begins[character] = True
        return self.begins[character]

    def _add(
        self, threads: dict[int, dict[int, int]], seen: set[int], state: int, at: int, line: str,
        slots: dict[int, int],
    ) -> None:  # fmt: skip
        """Add a state and all that it leads to without a character, the first way first; ``seen``
        are those that have been at this place already, with all that they lead to.
        """
        waiting = [(state, slots)]
        while waiting:
            here, places = waiting.pop()
            if here in seen:
                continue
            seen.add(here)
            step = self.program[here]
            if step.kind == "split":
                waiting += [(step.other, places), (step.to, places)]
            elif step.kind == "slot":
                waiting.append((step.to, {**places, step.number: at}))
            elif step.kind == "edge":
                if _is_edge(step.number, line, at):
                    waiting.append((step.to, places))
            else:
                threads[here] = places


BEGIN, END, BOUNDARY, NO_BOUNDARY = range(4)


def _is_edge(kind: int, line: str, at: int) -> bool:
    if kind == BEGIN:
        return at == 0
    if kind == END:
        return at == len(line)
    before = at > 0 and _is_word(line[at - 1])
    behind = at < len(line) and _is_word(line[at])
    return (before != behind) == (kind == BOUNDARY)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_CATEGORIES: dict[str, Test] = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_NOT_DIGIT": lambda c: not c.isdecimal(),
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_NOT_SPACE": lambda c: not c.isspace(),
    "CATEGORY_WORD": _is_word,
    "CATEGORY_NOT_WORD": lambda c: not _is_word(c),
}
_EDGES = {
    "AT_BEGINNING": BEGIN, "AT_BEGINNING_STRING": BEGIN, "AT_END": END, "AT_END_STRING": END,
    "AT_BOUNDARY": BOUNDARY, "AT_NON_BOUNDARY": NO_BOUNDARY,
}  # fmt: skip


@cache
def parse_regex(text: str) -> LinearRegex:
    """Return a pattern. Raises BadRegex for what is none, or is not searched for here."""
    if len(text) > LONGEST:
        raise BadRegex(f"a regular expression has at most {LONGEST} characters here")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = _parser.parse(text)
    except (re.error, Warning, RecursionError, OverflowError) as error:
        raise BadRegex(f"'{text}' is no regular expression: {error}") from error
    if tree.state.flags & ~re.UNICODE.value:
        raise BadRegex(f"'{text}': flags are not read here")
    building = _Building(text)
    building.sequence(tree)
    building.add(_Step("match"))
    program = tuple(building.program)
    taking = tuple(
        (step.test, step.to, program[step.to].kind in ("split", "slot", "edge")) for step in program
    )
    return LinearRegex(text, program, dict(tree.state.groupdict), taking)


class _Building:
    """The instructions of a pattern, one after the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.program: list[_Step] = []

    def add(self, step: _Step) -> int:
        """Add an instruction; returns its number."""
        if len(self.program) >= MOST_STATES:
            raise BadRegex(f"'{self.text}' is too large once its repetitions are written out")
        self.program.append(step)
        return len(self.program) - 1

    @property
    def next(self) -> int:
        """Return the number that the next instruction will have."""
        return len(self.program)

    def sequence(self, items: Any) -> None:
        """Add the instructions of items that follow each other."""
        for operator, argument in items:
            self.item(str(operator), argument)

    def item(self, operator: str, argument: Any) -> None:
        """Add the instructions of one item. Raises BadRegex for one that is not read here."""
        match operator:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                self.add(_Step("take", _Characters(_test(operator, argument)), to=self.next + 1))
            case "AT" if str(argument) in _EDGES:
                self.add(_Step("edge", to=self.next + 1, number=_EDGES[str(argument)]))
            case "SUBPATTERN":
                group, added, removed, inner = argument
                if added or removed:
                    raise BadRegex(f"'{self.text}': flags are not read here")
                self.slotted(group, inner)
            case "BRANCH":
                self.branch(argument[1])
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, inner = argument
                unbounded = most is _parser.MAXREPEAT
                self.repeat(least, None if unbounded else most, inner, operator == "MAX_REPEAT")
            case _:
                name = _NOT_SEARCHED.get(operator, operator.lower().replace("_", " "))
                raise BadRegex(f"'{self.text}': {name} is not searched for here")

    def slotted(self, group: int | None, inner: Any) -> None:
        """Add a group's instructions between those that note where it begins and ends."""
        if group is None:
            self.sequence(inner)
            return
        self.add(_Step("slot", to=self.next + 1, number=2 * group))
        self.sequence(inner)
        self.add(_Step("slot", to=self.next + 1, number=2 * group + 1))

    def branch(self, ways: Any) -> None:
        """Add alternatives, the first before the others."""
        ends = []
        for number, way in enumerate(ways):
            last = number == len(ways) - 1
            split = None if last else self.add(_Step("split"))
            self.sequence(way)
            if not last:
                ends.append(self.add(_Step("split")))
            if split is not None:
                self.program[split] = _Step("split", to=split + 1, other=self.next)
        for end in ends:
            self.program[end] = _Step("split", to=self.next, other=self.next)

    def repeat(self, least: int, most: int | None, inner: Any, greedy: bool) -> None:
        """Add repetitions, written out as far as they are counted."""
        if max(least, most or 0) > MOST_STATES:  # also of what adds nothing, such as (?:){99999}
            raise BadRegex(f"'{self.text}': a repetition is counted up to {MOST_STATES} here")
        for _ in range(least):
            self.sequence(inner)
        if most is None:
            split = self.add(_Step("split"))
            self.sequence(inner)
            self.add(_Step("split", to=split, other=split))
            self.choose(split, greedy)
            return
        splits = []
        for _ in range(most - least):
            splits.append(self.add(_Step("split")))
            self.sequence(inner)
        for split in splits:
            self.choose(split, greedy)

    def choose(self, split: int, greedy: bool) -> None:
        """Have a split go on inside or behind what is repeated."""
        ways = (split + 1, self.next)
        first, second = ways if greedy else ways[::-1]
        self.program[split] = _Step("split", to=first, other=second)


def _test(operator: str, argument: Any) -> Test:
    match operator:
        case "LITERAL":
            return lambda c: ord(c) == argument
        case "NOT_LITERAL":
            return lambda c: ord(c) != argument
        case "ANY":
            return lambda c: c != "\n"
    negated = bool(argument) and str(argument[0][0]) == "NEGATE"
    tests = [_member(str(kind), value) for kind, value in argument if str(kind) != "NEGATE"]
    return lambda c: any(test(c) for test in tests) != negated


def _member(kind: str, value: Any) -> Test:
    match kind:
        case "LITERAL":
            return lambda c: ord(c) == value
        case "RANGE":
            return lambda c: value[0] <= ord(c) <= value[1]
        case "CATEGORY" if str(value) in _CATEGORIES:
            return _CATEGORIES[str(value)]
    raise BadRegex(f"{kind.lower()} in a set of characters is not searched for here")
