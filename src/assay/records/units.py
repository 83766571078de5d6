"""Units a figure may carry: one table of how each is written and what it is turned into."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, kw_only=True)
class UnitFacts:
    """The spelling of a unit, and the conversion that makes its figures comparable."""

    symbol: str
    """Behind a number on a page; empty for a bare number."""
    words: str | None = None
    """Behind a number in a verdict's sentence, in ASCII; None for the code itself."""
    joint: str = " "
    """Between the number and ``words``."""
    base: str | None = None
    """Code of the unit that it is judged in; None for a unit that no measurement is judged in."""
    factor: float = 1.0
    """Base units in one of it."""
    exact: bool = False
    """Counted, not read off: such a figure has no last digit to be rounded."""


class Unit(StrEnum):
    """Units a figure may carry. Rates are decimal (1 TFLOP/s = 1e12 FLOP/s, 1 GB/s = 1e9 B/s)."""

    facts: UnitFacts

    def __new__(cls, code: str, facts: UnitFacts) -> "Unit":
        """Make a member whose value is ``code``."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.facts = facts
        return member

    TFLOP_PER_S = (
        "tflop_per_s",
        UnitFacts(symbol="TFLOP/s", words="TFLOP/s", base="tflop_per_s"),
    )
    GFLOP_PER_S = (
        "gflop_per_s",
        UnitFacts(symbol="GFLOP/s", words="GFLOP/s", base="tflop_per_s", factor=1e-3),
    )
    GB_PER_S = "gb_per_s", UnitFacts(symbol="GB/s", words="GB/s", base="gb_per_s")
    TB_PER_S = "tb_per_s", UnitFacts(symbol="TB/s", words="TB/s", base="gb_per_s", factor=1e3)
    MS = "ms", UnitFacts(symbol="ms", words="ms", base="ms")
    US = "us", UnitFacts(symbol="µs", words="us", base="ms", factor=1e-3)
    RATIO = (
        "ratio",
        UnitFacts(symbol="\N{MULTIPLICATION SIGN}", words="x", joint="", base="ratio"),
    )
    PERCENT = "percent", UnitFacts(symbol="%", words="%")
    """Of a gain: 50 % more is a ratio of 1.5, so it has no factor (see judging.case.to_base)."""
    COUNT = "count", UnitFacts(symbol="", exact=True)
    LINES = "lines", UnitFacts(symbol="lines", exact=True)
    MAX_ABS_ERROR = "max_abs_error", UnitFacts(symbol="")

    @property
    def base(self) -> "Unit":
        """Return the unit that its figures are judged in; itself where none is."""
        return next((unit for unit in Unit if unit.value == self.facts.base), self)


SYMBOLS = {unit.value: unit.facts.symbol for unit in Unit}
"""By code, as records carry it."""
