"""Printed figures as the ranges that they stand for, and arithmetic over them. Pure.

A printed figure stands for an interval: its value plus or minus half a unit of its last digit.
Figures of claims enter in TFLOP/s, GB/s and ms, whichever unit they are printed in; literals are
given in those units.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.base.errors import BadInput
from assay.records.arithmetic import Formula, Operand
from assay.records.claims import Claim, Relation
from assay.records.figure_words import printed, short
from assay.records.units import Unit

PRECISE = 6
"""Significant digits of a figure that arithmetic gives."""
ROUNDING = 1e-9
"""Relative slack for binary rounding: 5.45 is not exactly the upper end of 5.4 plus 0.05."""


BOUNDS = {Relation.AT_LEAST: " or more", Relation.AT_MOST: " or less"}
"""How a sentence tells that a claimed figure is a bound."""


@dataclass(frozen=True)
class PrintedRange:
    """A printed or recomputed number and the range it may stand for."""

    value: float
    low: float
    high: float

    def meets(self, other: "PrintedRange") -> bool:
        """Return whether the ranges share a point, up to binary rounding."""
        slack = ROUNDING * max(abs(self.value), abs(other.value))
        return self.low <= other.high + slack and other.low <= self.high + slack


def to_base(value: float, unit: Unit) -> tuple[float, Unit]:
    """Return a figure in a unit that rates and ratios are judged in; a gain in percent is a ratio.

    Raises BadInput for a unit that is not measured as a rate, a time or a ratio.
    """
    if unit is Unit.PERCENT:
        return 1 + value / 100, Unit.RATIO
    if unit.facts.base is None:
        raise BadInput(f"a figure in {unit.value} cannot be judged as a measured rate or ratio")
    return value * unit.facts.factor, unit.base


def from_base(value: float, unit: Unit) -> float:
    """Return a value of the base unit in the claim's own unit: the inverse of ``to_base``."""
    return (value - 1) * 100 if unit is Unit.PERCENT else value / unit.facts.factor


def resolve(operand: Operand, claims: Mapping[str, Claim]) -> PrintedRange:
    """Return an operand's interval in base units. Raises ValueError where it has no value."""
    if operand.formula is not None:
        return evaluate(operand.formula, [resolve(part, claims) for part in operand.operands])
    value, resolution, factor = operand.value, operand.resolution, 1.0
    if operand.claim is not None:
        claim = claims[operand.claim]
        value = claim.value
        resolution = claim.resolution if resolution is None else resolution
        factor = claim.unit.facts.factor if claim.unit else 1.0
    if value is None or resolution is None:
        raise ValueError(f"operand {operand.claim or operand.what} carries no value")
    half, upper = resolution / 2, value if operand.to is None else operand.to
    middle = value if operand.to is None else (value + operand.to) / 2
    return PrintedRange(middle * factor, max(0.0, value - half) * factor, (upper + half) * factor)


def evaluate(formula: Formula, values: Sequence[PrintedRange]) -> PrintedRange:
    """Return the interval of ``formula`` over independent intervals of non-negative numbers."""
    return _EVALUATORS[formula](values)


def _pair(values: Sequence[PrintedRange], what: str) -> tuple[PrintedRange, PrintedRange]:
    if len(values) != 2:
        raise ValueError(f"{what} takes two operands, not {len(values)}")
    a, b = values
    if b.value == 0:
        raise ValueError(f"{what} divides by zero")
    return a, b


def _quotient(values: Sequence[PrintedRange]) -> PrintedRange:
    a, b = _pair(values, "a quotient")
    high = a.high / b.low if b.low > 0 else math.inf
    return PrintedRange(a.value / b.value, a.low / b.high, high)


def _linear(factor: float, offset: float) -> Callable[[Sequence[PrintedRange]], PrintedRange]:
    """factor * a / b + offset, which rises with the quotient."""

    def evaluator(values: Sequence[PrintedRange]) -> PrintedRange:
        q = _quotient(values)
        return PrintedRange(*(factor * part + offset for part in (q.value, q.low, q.high)))

    return evaluator


def _by_part(
    function: Callable[[Sequence[float]], float],
) -> Callable[[Sequence[PrintedRange]], PrintedRange]:
    """A function that rises with every operand: its bounds are its values at the bounds."""

    def evaluator(values: Sequence[PrintedRange]) -> PrintedRange:
        return PrintedRange(
            function([v.value for v in values]),
            function([v.low for v in values]),
            function([v.high for v in values]),
        )

    return evaluator


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _stdev(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def _sample_stdev(values: Sequence[PrintedRange]) -> PrintedRange:
    """Point value plus or minus ||h|| / sqrt(n - 1), h the largest errors of the operands.

    Sound: the deviation is the norm of the centred operands over sqrt(n - 1); centring is a
    projection and cannot lengthen the vector of errors, so the norm moves by at most ||h||.
    """
    if len(values) < 2:
        raise ValueError("a sample deviation takes at least two operands")
    errors = (max(v.high - v.value, v.value - v.low) for v in values)
    slack = math.hypot(*errors) / math.sqrt(len(values) - 1)
    value = _stdev([v.value for v in values])
    return PrintedRange(value, max(0.0, value - slack), value + slack)


def _difference(values: Sequence[PrintedRange]) -> PrintedRange:
    if len(values) != 2:
        raise ValueError(f"a difference takes two operands, not {len(values)}")
    a, b = values
    if a.value < b.value:
        raise ValueError("a difference is taken from the larger figure")
    return PrintedRange(a.value - b.value, max(0.0, a.low - b.high), a.high - b.low)


def _whole_quotient(values: Sequence[PrintedRange]) -> PrintedRange:
    q = _quotient(values)
    high = math.floor(q.high) if math.isfinite(q.high) else q.high
    return PrintedRange(math.floor(q.value), math.floor(q.low), high)


_EVALUATORS: dict[Formula, Callable[[Sequence[PrintedRange]], PrintedRange]] = {
    Formula.QUOTIENT: _linear(1.0, 0.0),
    Formula.PERCENT_GAIN: _linear(100.0, -100.0),
    Formula.PERCENT_OF: _linear(100.0, 0.0),
    Formula.RATE_FROM_FLOP_AND_MS: _linear(1e-9, 0.0),
    Formula.MS_FROM_FLOP_AND_RATE: _linear(1e-9, 0.0),
    Formula.GB_PER_S_FROM_BYTES_AND_MS: _linear(1e-6, 0.0),
    Formula.WHOLE_QUOTIENT: _whole_quotient,
    Formula.PRODUCT: _by_part(math.prod),
    Formula.SUM: _by_part(math.fsum),
    Formula.DIFFERENCE: _difference,
    Formula.MEAN: _by_part(_mean),
    Formula.MAXIMUM: _by_part(max),
    Formula.MINIMUM: _by_part(min),
    Formula.SAMPLE_STDEV: _sample_stdev,
}

_TEMPLATES: dict[Formula, str] = {
    Formula.QUOTIENT: "{0} / {1}",
    Formula.PERCENT_GAIN: "({0} / {1} - 1) * 100 %",
    Formula.PERCENT_OF: "100 % * {0} / {1}",
    Formula.RATE_FROM_FLOP_AND_MS: "{0} FLOP / {1} ms in TFLOP/s",
    Formula.MS_FROM_FLOP_AND_RATE: "{0} FLOP / {1} TFLOP/s in ms",
    Formula.GB_PER_S_FROM_BYTES_AND_MS: "{0} bytes / {1} ms in GB/s",
    Formula.WHOLE_QUOTIENT: "{0} / {1} rounded down",
}

_NAMES: dict[Formula, str] = {Formula.SAMPLE_STDEV: "sample standard deviation"}
"""Formulas that a sentence calls otherwise than a claims file does."""

_JOINTS: dict[Formula, str] = {
    Formula.PRODUCT: " * ",
    Formula.SUM: " + ",
    Formula.DIFFERENCE: " - ",
}


def formula_text(formula: Formula, operands: Sequence[Operand], claims: Mapping[str, Claim]) -> str:
    """Return a formula over its operands' figures, as it stands in a sentence."""
    numbers = [operand_text(operand, claims) for operand in operands]
    if formula in _TEMPLATES:
        return _TEMPLATES[formula].format(*numbers)
    if formula in _JOINTS:
        return _JOINTS[formula].join(numbers)
    return f"the {_NAMES.get(formula, formula.value)} of {', '.join(numbers)}"


def operand_text(operand: Operand, claims: Mapping[str, Claim]) -> str:
    """Return an operand's figure: a number, a range, or a formula in brackets."""
    if operand.formula is not None:
        return f"({formula_text(operand.formula, operand.operands, claims)})"
    if operand.value is not None and operand.to is not None:
        ends = (operand.value, operand.to)
        return " to ".join(printed(end, operand.resolution) for end in ends)
    value, resolution = operand.value, operand.resolution
    if operand.claim is None:
        assert value is not None
        return printed(value, resolution)
    claim = claims[operand.claim]
    factor = claim.unit.facts.factor if claim.unit else 1.0
    if resolution is None and factor == 1 and claim.value is not None:
        return claim.digits(claim.value)
    step = claim.resolution if resolution is None else resolution
    return printed(resolve(operand, claims).value, None if step is None else step * factor)


def show(value: float) -> str:
    """Return a figure that printed ones give: ranges differ in digits that pages leave out."""
    return short(value, PRECISE)
