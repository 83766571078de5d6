"""Measured over claimed figures as pictures show them: 1 is as claimed, more than 1 is more."""

from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.records.claims import LESS_IS_BETTER, METRIC_UNITS, ClaimKind, Relation
from assay.records.evaluations import Derived, Metric, Program
from assay.records.units import Unit
from assay.records.verdicts import Verdict


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
    if verdict.unit in LESS_IS_BETTER:
        return Ratio(whole / value, whole / high, whole / low)
    return Ratio(value / whole, low / whole, high / whole)


def toward_better(catalog: Catalog, verdict: Verdict) -> Ratio | None:
    """Return a figure's ratio so that more is better by what its claim says; None as ``ratio_of``.

    That is claimed over measured where less is better: of times, of a figure that is at most so
    much, and of a rival's lead.
    """
    ratio = ratio_of(verdict)
    if ratio is None or verdict.unit in LESS_IS_BETTER:
        return ratio
    at_most = verdict.relation == Relation.AT_MOST.value
    if not at_most and not _is_a_rivals_lead(catalog, verdict.claim):
        return ratio
    return Ratio(1 / ratio.value, 1 / ratio.high, 1 / ratio.low)


def has_no_better_side(verdict: Verdict) -> bool:
    """Return whether a claim says that two things are alike: more is above, and not ahead."""
    return verdict.relation == Relation.SAME.value


def _is_a_rivals_lead(catalog: Catalog, name: str) -> bool:
    """Return whether a claim says how much faster a rival is than what its source is about.

    The rival is the claim that its source compares with, else what another project's program
    answers where a kernel answers the other side.
    """
    claim = catalog.claims.get(name)
    if claim is None or not isinstance(claim.evaluation, Derived):
        return False
    sides = claim.evaluation.numerator, claim.evaluation.denominator
    above, below = (catalog.claims[side] for side in sides)
    rivals = [side.kind is ClaimKind.COMPARATOR for side in (above, below)]
    if not any(rivals):
        rivals = [isinstance(side.evaluation, Program) for side in (above, below)]
    leads = (False, True) if above.unit in METRIC_UNITS[Metric.TIME] else (True, False)
    return tuple(rivals) == leads


def _on_axis(value: float, unit: str | None) -> float:
    """Return a gain in per cent as the ratio it means; other figures as they are."""
    return 1 + value / 100 if unit == Unit.PERCENT else value
