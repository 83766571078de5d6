"""Measured over claimed figures as pictures show them: 1 is as claimed, more than 1 is more."""

from dataclasses import dataclass

from assay.records.units import Unit
from assay.records.verdicts import Verdict

SLOW_IS_MORE = (Unit.MS.value, Unit.US.value, Unit.MAX_ABS_ERROR.value)
"""Units in which less is better."""


@dataclass(frozen=True)
class Ratio:
    """One figure over its claim; of times, claimed over measured."""

    value: float
    low: float
    high: float


def ratio_of(verdict: Verdict) -> Ratio | None:
    """Return how a measured figure stands to the claimed one; None where it has no interval."""
    claimed, measured, ci = verdict.claimed, verdict.measured, verdict.ci90
    if not isinstance(claimed, float) or not isinstance(measured, float) or ci is None:
        return None
    whole, value, low, high = (_on_axis(v, verdict.unit) for v in (claimed, measured, *ci))
    if min(whole, value, low, high) <= 0:
        return None
    if verdict.unit in SLOW_IS_MORE:
        return Ratio(whole / value, whole / high, whole / low)
    return Ratio(value / whole, low / whole, high / whole)


def _on_axis(value: float, unit: str | None) -> float:
    """Return a gain in per cent as the ratio it means; other figures as they are."""
    return 1 + value / 100 if unit == Unit.PERCENT else value
