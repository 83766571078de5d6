"""Arithmetic audit: do the figures of a source agree with each other? Pure; needs no GPU.

A relation is ``consistent`` when the interval of the recomputed value meets the interval of the
printed one (see ``printed_ranges``). Some relations give no figure: an order, a whole multiple,
and statements that must be one and the same.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.judging.claimed.printed_ranges import (
    ROUNDING,
    PrintedRange,
    evaluate,
    formula_text,
    operand_text,
    resolve,
    show,
)
from assay.records.arithmetic import Formula, Operand
from assay.records.claims import (
    Claim,
    Relation,
)


@dataclass(frozen=True)
class AuditResult:
    """Outcome of one relation; ``recomputed`` is None where the formula gives no figure."""

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
    if formula in _FIGURELESS:
        consistent, sentence = _FIGURELESS[formula](operands, values, claims)
        return AuditResult(consistent, None, None, sentence)
    if claimed is None:
        raise ValueError(f"formula {formula.value} needs a claimed figure")
    printed = resolve(claimed, claims)
    recomputed = evaluate(formula, values)
    consistent = stands(recomputed, printed, relation)
    verb = {
        Relation.EQUALS: "agrees with" if consistent else "disagrees with",
        Relation.SAME: "agrees with" if consistent else "disagrees with",
        Relation.AT_LEAST: "reaches" if consistent else "falls short of",
        Relation.AT_MOST: "stays within" if consistent else "goes beyond",
    }[relation]
    sentence = (
        f"{formula_text(formula, operands, claims)} = {show(recomputed.value)}"
        f"{_range(recomputed, ' by the digits given')}, "
        f"which {verb} the printed {operand_text(claimed, claims)}{_range(printed)}."
    )
    return AuditResult(consistent, recomputed, printed, sentence)


def _range(figure: PrintedRange, words: str = "") -> str:
    """Return in brackets what a figure may stand for; nothing of one that is exact."""
    low, high = show(figure.low), show(figure.high)
    return f" ({low} to {high}{words})" if low != high else ""


def stands(recomputed: PrintedRange, printed: PrintedRange, relation: Relation) -> bool:
    """Return whether a recomputed figure bears out a printed one, by the printed one's relation."""
    slack = ROUNDING * max(abs(recomputed.value), abs(printed.value))
    if relation is Relation.AT_LEAST:
        return recomputed.high + slack >= printed.low
    if relation is Relation.AT_MOST:
        return recomputed.low <= printed.high + slack
    return recomputed.meets(printed)


Outcome = tuple[bool, str]
Figureless = Callable[[Sequence[Operand], Sequence[PrintedRange], Mapping[str, Claim]], Outcome]


def _order(
    operands: Sequence[Operand], values: Sequence[PrintedRange], claims: Mapping[str, Claim]
) -> Outcome:
    a, b = _two(values, "an order")
    holds = a.value > b.value
    first, second = (_worked_out(*pair, claims) for pair in zip(operands, values, strict=True))
    return holds, f"{first} is {'greater' if holds else 'not greater'} than {second}."


def _multiple(
    operands: Sequence[Operand], values: Sequence[PrintedRange], claims: Mapping[str, Claim]
) -> Outcome:
    a, b = _two(values, "a multiple")
    if any(value.low != value.high for value in values):
        raise ValueError("a multiple is asked of exact counts alone")
    if b.value == 0:
        raise ValueError("a multiple of zero is asked for")
    first, second = (_worked_out(*pair, claims) for pair in zip(operands, values, strict=True))
    left = math.fmod(a.value, b.value)
    if left == 0:
        return True, f"{first} is {show(a.value / b.value)} times {second}."
    times = show(math.floor(a.value / b.value))
    return False, f"{first} is no multiple of {second}: {times} times leave {show(left)}."


def _agreement(
    operands: Sequence[Operand], values: Sequence[PrintedRange], claims: Mapping[str, Claim]
) -> Outcome:
    if len(values) < 2:
        raise ValueError(f"an agreement takes at least two operands, not {len(values)}")
    lowest, highest = max(value.low for value in values), min(value.high for value in values)
    agree = lowest <= highest + ROUNDING * max(abs(value.value) for value in values)
    texts = [
        f"{_worked_out(operand, value, claims)} ({_told(operand, claims)})"
        for operand, value in zip(operands, values, strict=True)
    ]
    listed = f"{', '.join(texts[:-1])} and {texts[-1]}"
    return agree, f"{listed} {'agree' if agree else 'disagree'}."


_FIGURELESS: dict[Formula, Figureless] = {
    Formula.GREATER: _order,
    Formula.MULTIPLE: _multiple,
    Formula.AGREE: _agreement,
}


def _two(values: Sequence[PrintedRange], what: str) -> tuple[PrintedRange, PrintedRange]:
    if len(values) != 2:
        raise ValueError(f"{what} takes two operands, not {len(values)}")
    return values[0], values[1]


def _worked_out(operand: Operand, value: PrintedRange, claims: Mapping[str, Claim]) -> str:
    """Return an operand's figure, with the arithmetic that gives it where there is any."""
    text = operand_text(operand, claims)
    return f"{text[1:-1]} = {show(value.value)}" if operand.formula is not None else text


def _told(operand: Operand, claims: Mapping[str, Claim]) -> str:
    """Return what an operand stands for, and where."""
    claim = claims[operand.claim] if operand.claim is not None else None
    what = operand.what or (claim.id if claim else "computed")
    place = operand.place
    if place is None:
        return what
    where = place.spot + (f" of source {place.source}" if place.source else "")
    return f"{what}, {where}"
