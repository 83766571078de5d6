"""Readings: under which meaning of a claim's words does the claimed figure hold?

The primary reading decides. Where it fails and another holds, the figure can be had, but of other
work than the source states: the verdict is ``misstated``. Every reading that was tried is told.
"""

from collections.abc import Iterable

from assay.judging.case import (
    Case,
    Failure,
    Measured,
    from_base,
    optional_significant,
    reported,
    significant,
)
from assay.judging.decision import decide
from assay.judging.measured import measure_claim, parts_of
from assay.judging.own_program import (
    SAYS,
    PrintedReading,
    as_typed,
    counted_otherwise,
    own_program,
    rebuilt_reading,
)
from assay.judging.verdicts import claimed_value
from assay.records.claims import Claim
from assay.records.evaluations import Derived
from assay.records.readings import PRIMARY, Reading
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict, VerdictReading, Why
from assay.shared.counting import agreeing, counted

CAUSES: dict[str, Why] = {
    "work": Why.OTHER_WORK,
    "problem": Why.OTHER_PROBLEM,
    "words": Why.OTHER_WORDS,
}
"""What a reading differs in, as the cause of a figure that holds only under it.

Another build of the same program does the same work: under it a figure is no misstatement.
"""
HOLDING = (Status.REPRODUCED,)
"""Within the margin of the claimed figure, or on the claimed side of a bound."""
TOPPLED = (Status.NOT_REPRODUCED, Status.EXCEEDED)
"""Verdicts of the primary reading that another one turns into ``misstated``."""


def readings_of(case: Case, claim: Claim) -> tuple[Reading, ...]:
    """Return the readings of a claim but its primary one.

    A figure derived from two others has the readings of these, unless it brings its own: under one
    of them, each part that has it is taken so, and the other as it stands.
    """
    own = claim.all_readings()
    evaluation = claim.evaluation
    if own or not isinstance(evaluation, Derived) or evaluation.under is not None:
        return own
    parts = (case.catalog.claims[name] for name in (evaluation.numerator, evaluation.denominator))
    found: dict[str, Reading] = {}
    for part in parts:
        for reading in part.all_readings():
            under = evaluation.model_copy(update={"under": reading.id})
            says = f"{part.id} read as: {reading.says}"
            if reading.id in found:
                says = f"{found[reading.id].says}; {says}"
            found[reading.id] = reading.model_copy(
                update={"says": says, "evaluation": under, "flop_formula": None, "flops": None}
            )
    return tuple(found.values())


def weigh_readings(case: Case, claim: Claim, target: str, verdict: Verdict) -> Verdict:
    """Return the verdict with all readings of the claim; unchanged where its words have but one."""
    others = (*rebuilt_reading(case, claim, target), *readings_of(case, claim))
    printed = counted_otherwise(case, claim, target)
    typed = as_typed(case, claim, target)
    if not others and typed is None:
        return verdict
    primary = measure_claim(case, claim, target)
    holds = _holds(verdict.status)
    wanting = _wanting_parts(case, claim, target) if holds else {}
    tried: list[tuple[Reading | PrintedReading, VerdictReading, tuple[str, ...]]]
    tried = [(reading, *_tried(case, claim, target, reading)) for reading in others]
    for beside in (printed, typed):
        if beside is not None:
            tried.append((beside[0], *_outcome(case, claim, target, *beside)))
    first = VerdictReading(
        id=PRIMARY,
        says=_primary(case, claim, target),
        primary=True,
        measured=verdict.measured if isinstance(verdict.measured, float) else None,
        ci90=verdict.ci90,
        holds=_worse_of(holds, wanting.values()),
        work_ratio=_work_ratio(primary) if isinstance(primary, Measured) else None,
        reason=primary.explanation if isinstance(primary, Failure) else _told_parts(wanting),
    )
    holding = [reading for reading, outcome, _ in tried if outcome.holds]
    outcomes = [outcome for _, outcome, _ in tried]
    paths = reported(tuple(path for *_, found in tried for path in found))
    other = [reading for reading in holding if reading.differs in CAUSES]
    misstated = verdict.status in TOPPLED and bool(other)
    return verdict.model_copy(
        update={
            "status": Status.MISSTATED if misstated else verdict.status,
            "why": CAUSES[other[0].differs] if misstated else verdict.why,
            "explanation": f"{verdict.explanation} {_told(holding, outcomes)}",
            "readings": (first, *outcomes),
            "evidence": tuple(dict.fromkeys((*verdict.evidence, *paths))),
        }
    )


def _primary(case: Case, claim: Claim, target: str) -> str:
    if isinstance(own_program(case, claim, target), Measured):
        return SAYS
    return claim.reading or "the problem and the count as the source states them"


def _tried(
    case: Case, claim: Claim, target: str, reading: Reading
) -> tuple[VerdictReading, tuple[str, ...]]:
    """One reading as measured, and the records that it rests on."""
    meant = claim.under(reading)
    return _outcome(case, meant, target, reading, measure_claim(case, meant, target))


def _outcome(
    case: Case,
    meant: Claim,
    target: str,
    reading: Reading | PrintedReading,
    measured: Measured | Failure,
) -> tuple[VerdictReading, tuple[str, ...]]:
    """How the claim as it is meant stands by what was measured, and the records of that."""
    if isinstance(measured, Failure) or measured.broken is not None:
        reason = measured.explanation if isinstance(measured, Failure) else measured.broken
        absent = VerdictReading(
            id=reading.id,
            says=reading.says,
            primary=False,
            measured=None,
            ci90=None,
            holds=None,
            reason=reason,
        )
        return absent, measured.evidence
    claimed, base = claimed_value(meant)
    unit = meant.unit or base
    decision = decide(measured, claimed, meant.relation, case.catalog.judging)
    holds = _holds(decision.status)
    wanting = _wanting_parts(case, meant, target) if holds else {}
    low, high = (significant(from_base(x, unit)) for x in measured.summary.interval())
    outcome = VerdictReading(
        id=reading.id,
        says=reading.says,
        primary=False,
        measured=significant(from_base(measured.summary.value(), unit)),
        ci90=(low, high),
        holds=_worse_of(holds, wanting.values()),
        work_ratio=_work_ratio(measured),
        reason=_told_parts(wanting),
    )
    return outcome, measured.evidence


def _wanting_parts(case: Case, claim: Claim, target: str) -> dict[str, bool | None]:
    """Return the parts of a ratio that do not hold, or are open, under the reading that is meant.

    An order is a statement of its own, whatever the two figures are.
    """
    if not isinstance(claim.evaluation, Derived) or not claim.relation.two_sided:
        return {}
    found: dict[str, bool | None] = {}
    for part in parts_of(case, claim.evaluation):
        measured = measure_claim(case, part, target)
        claimed, _ = claimed_value(part)
        if isinstance(measured, Measured):
            decision = decide(measured, claimed, part.relation, case.catalog.judging)
            found[part.id] = _holds(decision.status)
    return {name: holds for name, holds in found.items() if not holds}


def _worse_of(holds: bool | None, parts: Iterable[bool | None]) -> bool | None:
    """Return whether a ratio holds, which it does no better than its parts."""
    every = (holds, *parts)
    return False if False in every else None if None in every else True


def _told_parts(wanting: dict[str, bool | None]) -> str | None:
    if not wanting:
        return None
    named = " and ".join(
        f"{name} {'is open' if holds is None else 'does not hold'}"
        for name, holds in wanting.items()
    )
    return f"The ratio fits, but not the figures that it is formed from: {named}."


def _holds(status: Status) -> bool | None:
    """Whether the figure lies within the margin; None while that is open."""
    return status in HOLDING if status.facts.decided else None


def _work_ratio(measured: Measured) -> float | None:
    known = measured.unit is Unit.TFLOP_PER_S and measured.work_ratio is not None
    return optional_significant(measured.work_ratio) if known else None


def _told(holding: list[Reading | PrintedReading], tried: list[VerdictReading]) -> str:
    """Return how many readings were tried, and under which of them the figure holds."""
    measured = [outcome for outcome in tried if outcome.measured is not None]
    if not measured:
        return f"None of {counted(len(tried), 'other reading')} could be measured."
    count = f"{counted(len(measured), 'other reading')} {agreeing(len(measured), 'was', 'were')}"
    missing = len(tried) - len(measured)
    lacking = f" ({missing} more could not be)" if missing else ""
    unsettled = [outcome.says for outcome in measured if outcome.holds is None]
    alone = len(measured) == 1
    still = f" Under {len(unsettled)} it is open: {'; '.join(unsettled)}." if unsettled else ""
    if not holding:
        none = "does not hold under it" if alone else "holds under none of them"
        if unsettled:
            none = "holds under none of them for certain"
        return f"{count} measured{lacking}; the figure {none}.{still}"
    named = "; ".join(reading.says for reading in holding)
    under = "it" if alone else f"{len(holding)} of them"
    return f"{count} measured{lacking}; the figure holds under {under}: {named}.{still}"
