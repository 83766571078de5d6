"""Arithmetic audit: do the figures of a source agree with each other? Pure; needs no GPU.

A printed figure stands for an interval: its value plus or minus half a unit of its last digit. A
relation is ``consistent`` when the interval of the recomputed value meets the interval of the
printed one. Figures of claims enter in TFLOP/s, GB/s and ms, whichever unit they are printed in;
literals are given in those units.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.records.claims import Claim, Relation
from assay.records.evaluations import Formula, Operand

ROUNDING = 1e-9
"""Relative slack for binary rounding: 5.45 is not exactly the upper end of 5.4 plus 0.05."""


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


@dataclass(frozen=True)
class AuditResult:
    """Outcome of one relation; ``recomputed`` is None for an order (formula ``greater``)."""

    consistent: bool
    recomputed: PrintedRange | None
    claimed: PrintedRange | None
    sentence: str


def audit(
    formula: Formula,
    operands: Sequence[Operand],
    claimed: Operand | None,
    claims: Mapping[str, Claim],
    relation: Relation = Relation.EQUALS,
) -> AuditResult:
    """Recompute ``formula`` over ``operands`` and hold it against ``claimed``.

    ``relation`` is that of the claimed figure: ``at_least`` asks the recomputed value to reach it.
    Raises ValueError where a formula gets the wrong number of operands or divides by zero.
    """
    values = [resolve(operand, claims) for operand in operands]
    if formula is Formula.GREATER:
        return _order(values)
    if claimed is None:
        raise ValueError(f"formula {formula.value} needs a claimed figure")
    printed = resolve(claimed, claims)
    recomputed = evaluate(formula, values)
    consistent = _stands(recomputed, printed, relation)
    verb = {
        Relation.EQUALS: "agrees with" if consistent else "disagrees with",
        Relation.AT_LEAST: "reaches" if consistent else "falls short of",
        Relation.AT_MOST: "stays within" if consistent else "goes beyond",
    }[relation]
    sentence = (
        f"{_formula_text(formula, values)} = {show(recomputed.value)} "
        f"({show(recomputed.low)} to {show(recomputed.high)} by the digits given), "
        f"which {verb} the printed {show(printed.value)} "
        f"({show(printed.low)} to {show(printed.high)})."
    )
    return AuditResult(consistent, recomputed, printed, sentence)


def resolve(operand: Operand, claims: Mapping[str, Claim]) -> PrintedRange:
    """The interval an operand stands for, in base units. Raises ValueError without a value."""
    value, resolution, factor = operand.value, operand.resolution, 1.0
    if operand.claim is not None:
        claim = claims[operand.claim]
        value, resolution = claim.value, claim.resolution
        factor = claim.unit.facts.factor if claim.unit else 1.0
    if value is None or resolution is None:
        raise ValueError(f"operand {operand.claim or operand.what} carries no value")
    half = resolution / 2
    return PrintedRange(value * factor, max(0.0, value - half) * factor, (value + half) * factor)


def evaluate(formula: Formula, values: Sequence[PrintedRange]) -> PrintedRange:
    """The interval of ``formula`` over independent intervals of non-negative numbers."""
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


_EVALUATORS: dict[Formula, Callable[[Sequence[PrintedRange]], PrintedRange]] = {
    Formula.QUOTIENT: _linear(1.0, 0.0),
    Formula.PERCENT_GAIN: _linear(100.0, -100.0),
    Formula.PERCENT_OF: _linear(100.0, 0.0),
    Formula.RATE_FROM_FLOP_AND_MS: _linear(1e-9, 0.0),
    Formula.GB_PER_S_FROM_BYTES_AND_MS: _linear(1e-6, 0.0),
    Formula.PRODUCT: _by_part(math.prod),
    Formula.MEAN: _by_part(_mean),
    Formula.MAXIMUM: _by_part(max),
    Formula.SAMPLE_STDEV: _sample_stdev,
}


def _order(values: Sequence[PrintedRange]) -> AuditResult:
    if len(values) != 2:
        raise ValueError(f"an order takes two operands, not {len(values)}")
    a, b = values
    holds = a.value > b.value
    sentence = f"{show(a.value)} is {'greater' if holds else 'not greater'} than {show(b.value)}."
    return AuditResult(holds, None, None, sentence)


def _stands(recomputed: PrintedRange, printed: PrintedRange, relation: Relation) -> bool:
    slack = ROUNDING * max(abs(recomputed.value), abs(printed.value))
    if relation is Relation.AT_LEAST:
        return recomputed.high + slack >= printed.low
    if relation is Relation.AT_MOST:
        return recomputed.low <= printed.high + slack
    return recomputed.meets(printed)


_TEMPLATES: dict[Formula, str] = {
    Formula.QUOTIENT: "{0} / {1}",
    Formula.PERCENT_GAIN: "({0} / {1} - 1) * 100 %",
    Formula.PERCENT_OF: "100 % * {0} / {1}",
    Formula.RATE_FROM_FLOP_AND_MS: "{0} FLOP / {1} ms in TFLOP/s",
    Formula.GB_PER_S_FROM_BYTES_AND_MS: "{0} bytes / {1} ms in GB/s",
}


def _formula_text(formula: Formula, values: Sequence[PrintedRange]) -> str:
    numbers = [show(v.value) for v in values]
    if formula in _TEMPLATES:
        return _TEMPLATES[formula].format(*numbers)
    if formula is Formula.PRODUCT:
        return " * ".join(numbers)
    return f"the {formula.value.replace('_', ' ')} of {', '.join(numbers)}"


def show(value: float) -> str:
    """A number for a sentence: six significant digits, thousands of FLOPs without an exponent."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.6g}"
