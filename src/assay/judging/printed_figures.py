"""Printed figures as the ranges that they stand for, arithmetic over them, and the audit: do the
figures of a source agree with each other? Pure; needs no GPU.

A printed figure stands for an interval: its value plus or minus half a unit of its last digit.
Figures of claims enter in TFLOP/s, GB/s and ms, whichever unit they are printed in; literals are
given in those units. A relation is ``consistent`` when the interval of the recomputed value meets
that of the printed one. Some relations give no figure: an order, a whole multiple, and statements
that must be one and the same.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.base.errors import BadInput
from assay.records.arithmetic import Formula, Operand
from assay.records.claims import Claim, Relation
from assay.records.units import PRECISE, Unit, printed, short

ROUNDING = 1e-9
"""Relative slack for binary rounding: 5.45 is not exactly the upper end of 5.4 plus 0.05."""
BOUNDS = {Relation.AT_LEAST: " or more", Relation.AT_MOST: " or less"}
"""How a sentence tells that a claimed figure is a bound."""
VERBS = {
    Relation.EQUALS: ("disagrees with", "agrees with"),
    Relation.SAME: ("disagrees with", "agrees with"),
    Relation.AT_LEAST: ("falls short of", "reaches"),
    Relation.AT_MOST: ("goes beyond", "stays within"),
}
"""How a recomputed figure stands to a printed one: where it does not bear it out, where it does."""


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
    """Outcome of one relation; ``recomputed`` is None where the formula gives no figure."""

    consistent: bool
    recomputed: PrintedRange | None
    claimed: PrintedRange | None
    sentence: str


Claims = Mapping[str, Claim]
Ranges = Sequence[PrintedRange]


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


def resolve(operand: Operand, claims: Claims) -> PrintedRange:
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


def audit(
    formula: Formula,
    operands: Sequence[Operand],
    claimed: Operand | None,
    claims: Claims,
    relation: Relation = Relation.EQUALS,
) -> AuditResult:
    """Recompute ``formula`` over ``operands`` and hold it against ``claimed``.

    ``relation`` is that of the claimed figure: ``at_least`` asks the recomputed value to reach it.
    Raises ValueError where a formula gets the wrong number of operands or divides by zero.
    """
    values = [resolve(operand, claims) for operand in operands]
    if formula in _FIGURELESS:
        texts, told = _worked_out(operands, values, claims), [_told(o, claims) for o in operands]
        consistent, sentence = _FIGURELESS[formula](texts, values, told)
        return AuditResult(consistent, None, None, sentence)
    if claimed is None:
        raise ValueError(f"formula {formula.value} needs a claimed figure")
    stated, recomputed = resolve(claimed, claims), evaluate(formula, values)
    consistent = stands(recomputed, stated, relation)
    sentence = (
        f"{_formula_text(formula, operands, claims)} = {show(recomputed.value)}"
        f"{_range(recomputed, ' by the digits given')}, which {VERBS[relation][consistent]} the "
        f"printed {operand_text(claimed, claims)}{_range(stated)}."
    )
    return AuditResult(consistent, recomputed, stated, sentence)


def stands(recomputed: PrintedRange, stated: PrintedRange, relation: Relation) -> bool:
    """Return whether a recomputed figure bears out a printed one, by the printed one's relation."""
    slack = ROUNDING * max(abs(recomputed.value), abs(stated.value))
    if relation is Relation.AT_LEAST:
        return recomputed.high + slack >= stated.low
    if relation is Relation.AT_MOST:
        return recomputed.low <= stated.high + slack
    return recomputed.meets(stated)


def evaluate(formula: Formula, values: Ranges) -> PrintedRange:
    """Return the interval of ``formula`` over independent intervals of non-negative numbers."""
    return _FORMULAS[formula][0](values)


def operand_text(operand: Operand, claims: Claims) -> str:
    """Return an operand's figure: a number, a range, or a formula in brackets."""
    if operand.formula is not None:
        return f"({_formula_text(operand.formula, operand.operands, claims)})"
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


def _range(figure: PrintedRange, words: str = "") -> str:
    """Return in brackets what a figure may stand for; nothing of one that is exact."""
    low, high = show(figure.low), show(figure.high)
    return f" ({low} to {high}{words})" if low != high else ""


def _two(values: Ranges, what: str) -> tuple[PrintedRange, PrintedRange]:
    if len(values) != 2:
        raise ValueError(f"{what} takes two operands, not {len(values)}")
    return values[0], values[1]


def _quotient(values: Ranges) -> PrintedRange:
    a, b = _two(values, "a quotient")
    if b.value == 0:
        raise ValueError("a quotient divides by zero")
    high = a.high / b.low if b.low > 0 else math.inf
    return PrintedRange(a.value / b.value, a.low / b.high, high)


def _linear(factor: float, offset: float = 0.0) -> Callable[[Ranges], PrintedRange]:
    """Return factor * a / b + offset, which rises with the quotient."""

    def evaluator(values: Ranges) -> PrintedRange:
        q = _quotient(values)
        return PrintedRange(*(factor * part + offset for part in (q.value, q.low, q.high)))

    return evaluator


def _by_part(function: Callable[[Sequence[float]], float]) -> Callable[[Ranges], PrintedRange]:
    """Return a function that rises with every operand: its bounds are its values at the bounds."""

    def evaluator(values: Ranges) -> PrintedRange:
        ends = ([v.value for v in values], [v.low for v in values], [v.high for v in values])
        return PrintedRange(*map(function, ends))

    return evaluator


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _sample_stdev(values: Ranges) -> PrintedRange:
    """Point value plus or minus ||h|| / sqrt(n - 1), h the largest errors of the operands.

    Sound: the deviation is the norm of the centred operands over sqrt(n - 1); centring is a
    projection and cannot lengthen the vector of errors, so the norm moves by at most ||h||.
    """
    if len(values) < 2:
        raise ValueError("a sample deviation takes at least two operands")
    mean = _mean([v.value for v in values])
    value = math.sqrt(math.fsum((v.value - mean) ** 2 for v in values) / (len(values) - 1))
    errors = (max(v.high - v.value, v.value - v.low) for v in values)
    slack = math.hypot(*errors) / math.sqrt(len(values) - 1)
    return PrintedRange(value, max(0.0, value - slack), value + slack)


def _difference(values: Ranges) -> PrintedRange:
    a, b = _two(values, "a difference")
    if a.value < b.value:
        raise ValueError("a difference is taken from the larger figure")
    return PrintedRange(a.value - b.value, max(0.0, a.low - b.high), a.high - b.low)


def _whole_quotient(values: Ranges) -> PrintedRange:
    q = _quotient(values)
    high = math.floor(q.high) if math.isfinite(q.high) else q.high
    return PrintedRange(math.floor(q.value), math.floor(q.low), high)


_FORMULAS: dict[Formula, tuple[Callable[[Ranges], PrintedRange], str]] = {
    Formula.QUOTIENT: (_linear(1.0), "{0} / {1}"),
    Formula.PERCENT_GAIN: (_linear(100.0, -100.0), "({0} / {1} - 1) * 100 %"),
    Formula.PERCENT_OF: (_linear(100.0), "100 % * {0} / {1}"),
    Formula.RATE_FROM_FLOP_AND_MS: (_linear(1e-9), "{0} FLOP / {1} ms in TFLOP/s"),
    Formula.MS_FROM_FLOP_AND_RATE: (_linear(1e-9), "{0} FLOP / {1} TFLOP/s in ms"),
    Formula.GB_PER_S_FROM_BYTES_AND_MS: (_linear(1e-6), "{0} bytes / {1} ms in GB/s"),
    Formula.WHOLE_QUOTIENT: (_whole_quotient, "{0} / {1} rounded down"),
    Formula.PRODUCT: (_by_part(math.prod), " * "),
    Formula.SUM: (_by_part(math.fsum), " + "),
    Formula.DIFFERENCE: (_difference, " - "),
    Formula.MEAN: (_by_part(_mean), "mean"),
    Formula.MAXIMUM: (_by_part(max), "maximum"),
    Formula.MINIMUM: (_by_part(min), "minimum"),
    Formula.SAMPLE_STDEV: (_sample_stdev, "sample standard deviation"),
}
"""What evaluates a formula, and how a sentence writes it: with its operands' places, with what
stands between them, or by its name."""


def _formula_text(formula: Formula, operands: Sequence[Operand], claims: Claims) -> str:
    """Return a formula over its operands' figures, as it stands in a sentence."""
    numbers, words = [operand_text(operand, claims) for operand in operands], _FORMULAS[formula][1]
    if "{0}" in words:
        return words.format(*numbers)
    return words.join(numbers) if words[0] == " " else f"the {words} of {', '.join(numbers)}"


def _order(texts: Sequence[str], values: Ranges, told: Sequence[str]) -> tuple[bool, str]:
    a, b = _two(values, "an order")
    holds = a.value > b.value
    return holds, f"{texts[0]} is {'greater' if holds else 'not greater'} than {texts[1]}."


def _multiple(texts: Sequence[str], values: Ranges, told: Sequence[str]) -> tuple[bool, str]:
    a, b = _two(values, "a multiple")
    if any(value.low != value.high for value in values):
        raise ValueError("a multiple is asked of exact counts alone")
    if b.value == 0:
        raise ValueError("a multiple of zero is asked for")
    left, (first, second) = math.fmod(a.value, b.value), texts
    if left == 0:
        return True, f"{first} is {show(a.value / b.value)} times {second}."
    times = show(math.floor(a.value / b.value))
    return False, f"{first} is no multiple of {second}: {times} times leave {show(left)}."


def _agreement(texts: Sequence[str], values: Ranges, told: Sequence[str]) -> tuple[bool, str]:
    if len(values) < 2:
        raise ValueError(f"an agreement takes at least two operands, not {len(values)}")
    lowest, highest = max(value.low for value in values), min(value.high for value in values)
    agree = lowest <= highest + ROUNDING * max(abs(value.value) for value in values)
    *most, last = [f"{text} ({of})" for text, of in zip(texts, told, strict=True)]
    return agree, f"{', '.join(most)} and {last} {'agree' if agree else 'disagree'}."


_FIGURELESS = {Formula.GREATER: _order, Formula.MULTIPLE: _multiple, Formula.AGREE: _agreement}
"""What tells whether operands stand so, of their texts, their values and what they stand for."""


def _worked_out(operands: Sequence[Operand], values: Ranges, claims: Claims) -> list[str]:
    """Return operands' figures, each with the arithmetic that gives it where there is any."""
    texts = [operand_text(operand, claims) for operand in operands]
    return [
        f"{text[1:-1]} = {show(value.value)}" if operand.formula is not None else text
        for text, operand, value in zip(texts, operands, values, strict=True)
    ]


def _told(operand: Operand, claims: Claims) -> str:
    """Return what an operand stands for, and where."""
    what = operand.what or (claims[operand.claim].id if operand.claim else "computed")
    place = operand.place
    if place is None:
        return what
    return f"{what}, {place.spot}" + (f" of source {place.source}" if place.source else "")
