"""Units a figure may carry: one table of how each is written and what it is turned into."""

import re
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, kw_only=True)
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


class Unit(StrEnum):
    """Units a figure may carry. Rates are decimal (1 TFLOP/s = 1e12 FLOP/s, 1 GB/s = 1e9 B/s)."""

    facts: UnitFacts

    def __new__(cls, code: str, facts: UnitFacts) -> "Unit":
        """Make a member whose value is ``code``."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.facts = facts
        return member

    PFLOP_PER_S = (
        "pflop_per_s",
        UnitFacts(
            symbol="PFLOP/s", base="tflop_per_s", factor=1e3,
            written=("pflops", "pflops/s", "pflop/sec", "pflops/sec"),
        ),
    )  # fmt: skip
    TFLOP_PER_S = (
        "tflop_per_s",
        UnitFacts(
            symbol="TFLOP/s",
            base="tflop_per_s",
            written=("tflops", "tflops/s", "tflop/sec", "tflops/sec"),
        ),
    )
    GFLOP_PER_S = (
        "gflop_per_s",
        UnitFacts(
            symbol="GFLOP/s", base="tflop_per_s", factor=1e-3,
            written=("gflops", "gflops/s", "gflop/sec", "gflops/sec"),
        ),
    )  # fmt: skip
    GB_PER_S = (
        "gb_per_s",
        UnitFacts(symbol="GB/s", base="gb_per_s", written=("gb/sec",)),
    )
    TB_PER_S = (
        "tb_per_s",
        UnitFacts(symbol="TB/s", base="gb_per_s", factor=1e3, written=("tb/sec",)),
    )
    S = "s", UnitFacts(symbol="s", base="ms", factor=1e3, written=("sec", "second", "seconds"))
    MS = "ms", UnitFacts(symbol="ms", base="ms", written=("msec",))
    US = (
        "us",
        UnitFacts(
            symbol="µs", base="ms", factor=1e-3,
            written=("\N{GREEK SMALL LETTER MU}s", "us", "usec"),
        ),
    )  # fmt: skip
    NS = "ns", UnitFacts(symbol="ns", base="ms", factor=1e-6, written=("nsec",))
    RATIO = (
        "ratio",
        UnitFacts(symbol="\N{MULTIPLICATION SIGN}", base="ratio", written=("x", "times")),
    )
    PERCENT = "percent", UnitFacts(symbol="%", base="ratio")
    """Of a gain: 50 % more is a ratio of 1.5, and no factor makes it one (judging.case.to_base)."""
    COUNT = "count", UnitFacts(symbol="", exact=True)
    LINES = "lines", UnitFacts(symbol="lines", exact=True)
    MAX_ABS_ERROR = "max_abs_error", UnitFacts(symbol="")

    @property
    def base(self) -> "Unit":
        """Return the unit that its figures are judged in; itself where none is."""
        return next((unit for unit in Unit if unit.value == self.facts.base), self)

    @property
    def typed(self) -> str:
        """Return it as it is typed on any keyboard."""
        spellings = (self.facts.symbol, *self.facts.written, self.value)
        return next(each for each in spellings if each and each.isascii())


def _spellings() -> dict[str, Unit]:
    return {
        spelling.lower(): unit
        for unit in Unit
        for spelling in (
            unit.value, unit.facts.symbol, *unit.facts.written,
        )
        if spelling
    }  # fmt: skip


BITS = re.compile(r"[KMGTkmgt]?b(/|p|it)")
SPELLINGS = _spellings()
"""Units by every spelling of theirs, in lower case."""


SIZED = frozenset({Unit.TFLOP_PER_S, Unit.GB_PER_S, Unit.MS})
"""Units of which there are larger and smaller ones."""
NEVER = {
    "/": frozenset({Unit.MS}),
    "b": frozenset({Unit.MS, Unit.TFLOP_PER_S}),
    "f": frozenset({Unit.MS, Unit.GB_PER_S}),
}
"""What is not meant by a text with a sign in it."""


def unit_as_written(text: str) -> Unit | None:
    """Return the unit that people write so ("TFLOP/s", "tflops", "x"); None where none is.

    Bits are no bytes: "Gb/s" is none, whatever is meant by it.
    """
    compact = "".join(text.split())
    if are_bits(text):
        return None
    return SPELLINGS.get(compact.lower())


def are_bits(text: str) -> bool:
    """Return whether a text begins as a unit of bits does."""
    return BITS.match("".join(text.split())) is not None


def spellings_like(text: str) -> list[str]:
    """Return the spellings one of which may be meant by a text that is none.

    The letter that a unit begins with says how large it is, and what stands behind it of what: KB/s
    is no slip for TB/s, nor MB/s for ms, nor TF/s for TB/s.
    """
    typed = "".join(text.split()).lower()
    others = frozenset().union(*(never for sign, never in NEVER.items() if sign in typed))
    return [
        spelling
        for spelling, unit in SPELLINGS.items()
        if min(len(spelling), len(typed)) > 1
        and (unit.base not in SIZED or spelling[0] == typed[0])
        and unit.base not in others
    ]


SYMBOLS = {unit.value: unit.facts.symbol for unit in Unit}
"""By code, as records carry it."""
