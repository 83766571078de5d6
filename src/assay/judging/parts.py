"""Figures derived from two others: a ratio stands no better than the worse of its parts."""

from collections.abc import Mapping

from assay.records.claims import Relation
from assay.records.verdicts import Status, Verdict

GOOD = (Status.REPRODUCED, Status.EXCEEDED)
"""Statuses that take nothing from a ratio."""


def no_better_than_parts(verdict: Verdict, parts: Mapping[str, Verdict]) -> Verdict:
    """Return the verdict on a ratio, with status and cause of the worse part where that is worse.

    ``parts`` are the verdicts on the two claims it is formed from; of one that was measured
    elsewhere, what it would be. Two figures that are both too low may well have the claimed ratio.
    An order ("at least as fast as") is a statement of its own, whatever the two figures are.
    """
    if verdict.relation != Relation.EQUALS.value:
        return verdict
    lacking = {name: part for name, part in parts.items() if part.status not in GOOD}
    if verdict.ci90 is None or not lacking:
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
