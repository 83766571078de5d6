"""Figures as people read them: written one way in a verdict's sentence and in a page's cell."""

import math

from assay.records.units import SYMBOLS, Unit

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


def readable(value: float, unit: Unit | str | None) -> tuple[float, str | None]:
    """Return what a measured value is to be multiplied by, and the unit that people read it in.

    A figure that a source prints stays in the source's own unit.
    """
    for own, (least, below, other) in READ_IN.items():
        if unit == own.value and value and least <= abs(value) < below:
            return own.facts.factor / other.facts.factor, other.value
    return 1.0, unit
