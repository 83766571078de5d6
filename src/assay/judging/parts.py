"""Figures derived from two others: a ratio stands no better than the worse of its parts.

Nor does it fail because of a figure that does not: where both parts are had, or more than had, and
their ratio is not, what the one is held against got further than it.
"""

from collections.abc import Mapping

from assay.records.claims import METRIC_UNITS, Relation
from assay.records.evaluations import Metric
from assay.records.verdicts import Status, Verdict, Why

GOOD = (Status.REPRODUCED, Status.EXCEEDED)
"""Statuses that take nothing from a ratio."""
TIMES = frozenset(unit.value for unit in METRIC_UNITS[Metric.TIME])
"""Units of which less is better."""


def no_better_than_parts(verdict: Verdict, parts: Mapping[str, Verdict]) -> Verdict:
    """Return the verdict on a ratio, with status and cause of the worse part where that is worse.

    ``parts`` are the verdicts on the two claims it is formed from; of one that was measured
    elsewhere, what it would be. Two figures that are both too low may well have the claimed ratio.
    An order ("at least as fast as") is a statement of its own, whatever the two figures are.
    """
    if not Relation(verdict.relation).two_sided:
        return verdict
    lacking = {name: part for name, part in parts.items() if part.status not in GOOD}
    if verdict.ci90 is None:
        return verdict
    if verdict.status is Status.NOT_REPRODUCED and _outrun(parts):
        return _comparator_faster(verdict, parts)
    if not lacking:
        return verdict
    worst = min(lacking.values(), key=lambda part: part.status.facts.severity)
    if worst.status.facts.severity >= verdict.status.facts.severity:
        return verdict
    named = " and ".join(f"{name} is {part.status.word}" for name, part in lacking.items())
    text = (
        f"{verdict.explanation} By itself the ratio would be {verdict.status.word}; it stands no "
        f"better than the figures that it is formed from: {named}."
    )
    return verdict.model_copy(
        update={
            "status": worst.status,
            "why": worst.why,
            "reason": f"part_{worst.status.value}",
            "explanation": text,
        }
    )


def _comparator(parts: Mapping[str, Verdict]) -> tuple[str, Verdict]:
    """Return the part that the other is held against, by name: the lower rate, or the upper time.

    ``parts`` has the numerator first.
    """
    numerator, denominator = parts.items()
    return numerator if numerator[1].unit in TIMES else denominator


def _outrun(parts: Mapping[str, Verdict]) -> bool:
    """Return whether the part that the other is held against is exceeded, and neither is missed."""
    missed = [part for part in parts.values() if part.status.facts.decided]
    if any(part.status not in GOOD for part in missed) or len(parts) < 2:
        return False
    return _comparator(parts)[1].status is Status.EXCEEDED


def _comparator_faster(verdict: Verdict, parts: Mapping[str, Verdict]) -> Verdict:
    """Return the verdict on a ratio that fails though neither part falls short."""
    named = " and ".join(f"{name} is {part.status.word}" for name, part in parts.items())
    text = (
        f"{verdict.explanation} Neither figure falls short: {named}. What it is compared with, "
        f"{_comparator(parts)[0]}, got faster by more."
    )
    return verdict.model_copy(update={"why": Why.COMPARATOR_FASTER, "explanation": text})
