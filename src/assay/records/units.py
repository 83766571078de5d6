"""Units, figures in words, and the places that they are printed at."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class UnitFacts:
    """The spelling of a unit, and the conversion that makes its figures comparable."""

    symbol: str
    """Behind a number (``records.figure_words``); empty for a bare number."""
    base: str | None = None
    """Code of the unit that it is judged in; None for a unit that no measurement is judged in."""
    factor: float = 1.0
    """Base units in one of it."""
    exact: bool = False
    """Counted, not read off: such a figure has no last digit to be rounded."""
    written: tuple[str, ...] = ()
    """Further spellings of people, in lower case and without blanks."""


def _rate(symbol: str, factor: float = 1.0) -> UnitFacts:
    name = symbol.removesuffix("/s").lower()
    spellings = (f"{name}s", f"{name}s/s", f"{name}/sec", f"{name}s/sec")
    return UnitFacts(symbol, "tflop_per_s", factor, written=spellings)


class Unit(StrEnum):
    """Units a figure may carry. Rates are decimal (1 TFLOP/s = 1e12 FLOP/s, 1 GB/s = 1e9 B/s)."""

    facts: UnitFacts

    def __new__(cls, code: str, facts: UnitFacts) -> "Unit":
        """Make a member whose value is ``code``."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.facts = facts
        return member

    PFLOP_PER_S = "pflop_per_s", _rate("PFLOP/s", 1e3)
    TFLOP_PER_S = "tflop_per_s", _rate("TFLOP/s")
    GFLOP_PER_S = "gflop_per_s", _rate("GFLOP/s", 1e-3)
    GB_PER_S = "gb_per_s", UnitFacts("GB/s", "gb_per_s", written=("gb/sec",))
    TB_PER_S = "tb_per_s", UnitFacts("TB/s", "gb_per_s", 1e3, written=("tb/sec",))
    S = "s", UnitFacts("s", "ms", 1e3, written=("sec", "second", "seconds"))
    MS = "ms", UnitFacts("ms", "ms", written=("msec",))
    US = "us", UnitFacts("µs", "ms", 1e-3, written=("\N{GREEK SMALL LETTER MU}s", "us", "usec"))
    NS = "ns", UnitFacts("ns", "ms", 1e-6, written=("nsec",))
    RATIO = "ratio", UnitFacts("\N{MULTIPLICATION SIGN}", "ratio", written=("x", "times"))
    PERCENT = "percent", UnitFacts("%", "ratio")
    """Of a gain: 50 % more is a ratio of 1.5, and no factor makes it one (judging.case.to_base)."""
    COUNT = "count", UnitFacts("", exact=True)
    LINES = "lines", UnitFacts("lines", exact=True)
    MAX_ABS_ERROR = "max_abs_error", UnitFacts("")

    @property
    def base(self) -> "Unit":
        """Return the unit that its figures are judged in; itself where none is."""
        return next((unit for unit in Unit if unit.value == self.facts.base), self)

    @property
    def typed(self) -> str:
        """Return it as it is typed on any keyboard."""
        spellings = (self.facts.symbol, *self.facts.written, self.value)
        return next(each for each in spellings if each and each.isascii())


BITS = re.compile(r"[KMGTkmgt]?b(/|p|it)")
"""Begins as a unit of bits does."""
SPELLINGS = {
    spelling.lower(): unit
    for unit in Unit
    for spelling in (unit.value, unit.facts.symbol, *unit.facts.written)
    if spelling
}

NEITHER = frozenset({Unit.LINES, Unit.COUNT})
"""Units of figures of which neither more nor less is better."""
LESS = frozenset(unit for unit in Unit if unit.base is Unit.MS) | {Unit.MAX_ABS_ERROR}


def better(unit: str | None, relation: str) -> int:
    """Return 1 where more is better of a figure, -1 where less is, 0 where neither is."""
    if unit is None or unit in NEITHER or relation == "same":
        return 0
    return -1 if unit in LESS else 1


def no_unit(typed: str) -> str:
    """Return what is wrong with a unit that nobody knows."""
    return f"unit: '{typed}' is none; known: {', '.join(unit.typed for unit in Unit)}"


def unit_as_written(text: str) -> Unit | None:
    """Return the unit that people write so ("TFLOP/s", "tflops", "x"); None where none is.

    Bits are no bytes: "Gb/s" is none, whatever is meant by it.
    """
    compact = "".join(text.split())
    return None if BITS.match(compact) else SPELLINGS.get(compact.lower())


SYMBOLS = {unit.value: unit.facts.symbol for unit in Unit}
"""By code, as records carry it."""

DIGITS = 4
"""Significant ones of a measured figure, zeros at its end among them."""
DIGITS_OF_SHARES = 3
"""The same of a share, which is told in per cent."""
PRECISE = 6
"""Significant digits of a figure that arithmetic over printed ones gives."""
EXACT = 12
"""Digits beyond which two numbers are one: what is left is how machines keep decimals."""
COUNTED = frozenset(unit.value for unit in Unit if unit.facts.exact)
"""Units of what is counted, and has no digits to be rounded."""
READ_IN = {
    Unit.S: (0.0, 0.1, Unit.MS),
    Unit.MS: (0.0, 0.1, Unit.US),
    Unit.US: (1e3, math.inf, Unit.MS),
    Unit.NS: (1e3, math.inf, Unit.US),
    Unit.GFLOP_PER_S: (1e3, math.inf, Unit.TFLOP_PER_S),
}
"""(from, below, unit): figures that people read in another unit, as 20 µs rather than 0.02 ms."""


def number(value: float, digits: int = DIGITS) -> str:
    """Return a measured number to so many significant digits: ``413.0`` beside ``65.31``.

    Digits before the point are never rounded away; an exponent stands only where zeros would pile.
    What is counted, declared or printed has its own digits: ``short``, ``printed``.
    """
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e15:
        return f"{value:.3g}"
    rounded = float(f"{value:.{digits}g}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{value:.0f}" if decimals <= 0 else f"{rounded:.{decimals}f}"


def short(value: float, digits: int = DIGITS) -> str:
    """Return ``number`` without zeros at its end: of figures that were declared or reckoned."""
    text = number(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def printed(value: float, resolution: float | None) -> str:
    """Return a figure with as many decimals as its source prints.

    ``resolution``: the step of its last digit; None or 0 for a figure that is exact.
    """
    if not resolution or resolution < 0:
        text = f"{value:.{EXACT}g}"
        return f"{value:.0f}" if "e" in text and 1 <= abs(value) < 1e15 else text
    return f"{value:.{max(0, -math.floor(math.log10(resolution) + 1e-9))}f}"


def with_unit(text: str, unit: Unit | str | None) -> str:
    """Return a number and its unit as people write it, with a space where they put one."""
    symbol = SYMBOLS.get(unit, unit) if unit else ""
    joint = "" if unit == Unit.RATIO.value else " "
    return f"{text}{joint}{symbol}" if symbol else text


def quantity(value: float, unit: Unit | str | None) -> str:
    """Return a measured value in the unit that people read it in: 20.01 µs, 33.86 TFLOP/s."""
    factor, read_in = readable(value, unit)
    return with_unit(in_digits(value * factor, read_in), read_in)


def in_digits(value: float, unit: Unit | str | None) -> str:
    """Return a measured number as its unit has it: what is counted is told whole."""
    return printed(value, None) if unit in COUNTED else number(value)


def percent(fraction: float) -> str:
    """Return a measured share in per cent, to three significant digits: ``12.0 %``, ``0.312 %``."""
    return f"{number(100 * fraction, DIGITS_OF_SHARES)} %"


def declared_percent(fraction: float) -> str:
    """Return a share that was declared, as a margin is, without zeros at its end: ``8 %``."""
    return f"{short(100 * fraction, DIGITS_OF_SHARES)} %"


def margin_factor(fraction: float) -> str:
    """Return a margin as the factor that it is: from the figure over it to the figure times it."""
    return f"{1 + fraction:.4g}"


def readable(value: float, unit: Unit | str | None) -> tuple[float, str | None]:
    """Return what a measured value is to be multiplied by, and the unit that people read it in.

    A figure that a source prints stays in the source's own unit.
    """
    for own, (least, below, other) in READ_IN.items():
        if unit == own.value and value and least <= abs(value) < below:
            return own.facts.factor / other.facts.factor, other.value
    return 1.0, unit


_PLACE = re.compile(
    r"\{(?P<claim>[a-z0-9_]+)(?:@(?P<target>[a-z0-9_]+))?"
    r"(?:\.(?P<reading>[a-z0-9_]+))?(?::(?P<what>[a-z]+))?\}"
)


@dataclass(frozen=True)
class FigurePlace:
    """What stands at one place of a sentence."""

    claim: str
    reading: str | None
    what: str | None
    """``claimed``, ``work`` or ``gpu``; None for the measured figure."""
    target: str | None = None
    """Of which GPU; None for the one that the source names, or what there is."""


def places(text: str) -> Iterator[FigurePlace]:
    """Yield the places of a sentence, in order."""
    for found in _PLACE.finditer(text):
        yield FigurePlace(found["claim"], found["reading"], found["what"], found["target"])


def split(text: str) -> list[str]:
    """Return the words around the places: one more than there are places."""
    return _PLACE.sub("\0", text).split("\0")
