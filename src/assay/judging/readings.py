"""Readings: under which meaning of a claim's words does the claimed figure hold?

The primary reading decides. Where it fails and another holds, the figure can be had, but of other
work than the source states: the verdict is ``misstated``. Every reading that was tried is told.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.judging.case import Case, Failure, Measured, Question, significant
from assay.judging.measured import measure_claim, measure_part, parts_of
from assay.judging.own_program import (
    AS_STATED,
    SAYS,
    as_typed,
    built_as_typed,
    counted_otherwise,
    counts_of,
    own_program,
    printed_beside,
    rebuilt_reading,
    sides_of,
)
from assay.judging.verdicts import claimed_value, decision_on
from assay.records import evaluations as ways
from assay.records.claims import TIME_UNITS, Claim, Relation
from assay.records.evaluations import Derived, Reading
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict, VerdictReading, Why
from assay.shared.counting import agreeing, counted

CAUSES: dict[str, Why] = {
    "work": Why.OTHER_WORK,
    "problem": Why.OTHER_PROBLEM,
    "words": Why.OTHER_WORDS,
}
"""What a reading differs in, as the cause of a figure that holds only under it.

Another build of the same program does the same work: under it a figure is no misstatement. Nor is
it one over another rival than the source names, which is shown beside it.
"""
UNSTATED = "unstated"
"""What a reading differs in that the source leaves open: it accuses nobody of a misstatement."""
FARTHEST = ("problem", "work", "words", "rival", "build", UNSTATED)
"""What a reading may differ in, by how far that leads from what is stated: a ratio differs in what
leads farther of its sides."""
TOPPLED = (Status.NOT_REPRODUCED, Status.EXCEEDED)
"""Verdicts of the primary reading that another one turns into ``misstated``."""


def readings_of(case: Case, claim: Claim, target: str) -> tuple[Reading, ...]:
    """Return the readings of a claim but its primary one.

    A figure derived from two others has the readings of these, unless it brings its own: under one
    of them, each part that has it is taken so, and the other as it stands. What the source's own
    program printed for a part is one of them.
    """
    own = claim.all_readings()
    evaluation = claim.evaluation
    if own or not isinstance(evaluation, Derived) or evaluation.under is not None:
        return own
    sides: list[tuple[Claim, dict[str, Reading]]] = []
    for part in (case.catalog.claims[n] for n in (evaluation.numerator, evaluation.denominator)):
        beside = counted_otherwise(case, part, target)
        every = (*part.all_readings(), *((beside[0],) if beside else ()))
        sides.append((part, {reading.id: reading for reading in every}))
    counts = next((name for part, _ in sides if (name := counts_of(case, part))), None)
    found: list[Reading] = []
    for name in dict.fromkeys(name for _, given in sides for name in given):
        as_run = counts if name == ways.PRINTED else None  # as parts_of takes the other side
        meant = [(part, given.get(name) or given.get(as_run or "")) for part, given in sides]
        said = [(part, reading) for part, reading in meant if reading is not None]
        update = {
            "id": name,
            "says": "; ".join(f"{part.id} read as: {reading.says}" for part, reading in said),
            "evaluation": evaluation.model_copy(update={"under": name}),
            "differs": min((reading.differs for _, reading in said), key=FARTHEST.index),
            "flop_formula": None,
            "flops": None,
        }
        found.append(said[-1][1].model_copy(update=update))
    return tuple(found)


def weigh_readings(ask: Question, verdict: Verdict) -> Verdict:
    """Return the verdict with all readings of the claim; unchanged where its words have but one."""
    case, claim, target = ask.case, ask.claim, ask.target
    tried = _tried(case, claim, target)
    if not tried:
        return verdict
    primary = measure_claim(case, claim, target)
    own_decides = isinstance(own_program(case, claim, target), Measured)
    holds, wanting = _standing(case, claim, target, verdict.status)
    first = VerdictReading(
        id=ways.PRIMARY,
        says=SAYS if own_decides else claim.reading or AS_STATED,
        primary=True,
        measured=verdict.measured if isinstance(verdict.measured, float) else None,
        ci90=verdict.ci90,
        holds=holds,
        work_ratio=_work_ratio(primary) if isinstance(primary, Measured) else None,
        reason=primary.explanation if isinstance(primary, Failure) else wanting,
    )
    holding = sum(bool(each.outcome.holds) for each in tried)
    outcomes = [each.outcome for each in tried]
    fields, words = _toppled(claim, verdict, tried)
    if fields.get("why") is Why.OTHER_WORK and not _by_itself(case, claim, target, tried):
        fields["why"] = Why.OTHER_WORK_SEEMS
    paths = tuple(path for each in tried for path in each.measured.evidence)
    told = f"{_told(verdict.status, holding, outcomes)}{words}"
    return case.adding(verdict, told, paths, readings=(first, *outcomes), **fields)


@dataclass(frozen=True)
class TriedReading:
    """One reading beside the primary one, and how the claim stands under it."""

    reading: Reading
    meant: Claim
    """The claim as it is read; as it stands, of what its source's own program printed for it."""
    measured: Measured | Failure
    outcome: VerdictReading


def _tried(case: Case, claim: Claim, target: str) -> list[TriedReading]:
    """Return every reading of a claim but its primary one."""
    derived = (_counted_alike(case, each, target) for each in readings_of(case, claim, target))
    others = (*rebuilt_reading(case, claim, target), *derived)
    given = [
        (reading, meant, measure_claim(case, meant, target))
        for reading in others
        for meant in [claim.under(reading)]
    ]
    printed = counted_otherwise(case, claim, target)
    typed = as_typed(case, claim, target)
    given += [(beside[0], claim, beside[1]) for beside in (printed, typed) if beside]
    return [TriedReading(*each, _outcome(case, target, *each)) for each in given]


def waited_for(case: Case, claim: Claim, target: str) -> list[TriedReading]:
    """Return the readings without which a verdict that another one could change is not final."""
    return _missing(_tried(case, claim, target))[0]


def _missing(tried: Sequence[TriedReading]) -> tuple[list[TriedReading], str | None]:
    """Return the readings that could still change a verdict, and what one differs in that does.

    What a rebuild of the source's own program gives settles nothing that the program leaves open.
    """
    unsure = any(
        each.outcome.id == ways.PRINTED
        and each.outcome.measured is not None
        and each.outcome.holds is None
        for each in tried
    )
    holding = (each.reading.differs for each in tried if each.outcome.holds)
    other = next((differs for differs in holding if differs in CAUSES and not unsure), None)
    could = {UNSTATED, *(CAUSES if other is None else ())}
    return [e for e in tried if e.outcome.holds is None and e.reading.differs in could], other


def _counted_alike(case: Case, reading: Reading, target: str) -> Reading:
    """Return a reading of a ratio under which both sides count as many operations for each one that
    they do, within a ratio's margin, as one of what the source leaves unsaid: the count cancels.
    """
    evaluation = reading.evaluation
    if reading.differs != "work" or not isinstance(evaluation, Derived) or evaluation.flops:
        return reading
    sides = [measure_claim(case, part, target) for part in parts_of(case, evaluation)]
    counted = [side.work_ratio for side in sides if isinstance(side, Measured) and side.work_ratio]
    least, most = min(counted, default=0.0), max(counted, default=0.0)
    within = most <= least * (1 + case.catalog.judging.ratio_margin)
    if len(counted) < len(sides) or not within:
        return reading
    says = f"{reading.says}; both sides count alike, {least:.3g} to {most:.3g} operations for each"
    return reading.model_copy(update={"differs": UNSTATED, "says": says})


def _toppled(
    claim: Claim, verdict: Verdict, tried: Sequence[TriedReading]
) -> tuple[dict[str, Status | Why | str], str]:
    """Return what other readings make of a verdict on the primary one, and a sentence on what is
    missing.

    One that holds shows where the figure comes from. What the source leaves unsaid comes first: by
    a choice that it may have made the figure is had as stated, so that it is no misstatement; nor
    is a forecast, which has performed nothing yet that it could count otherwise. One that was not
    measured here, or is open, could still hold: then the verdict is not final.
    """
    bound = not Relation(verdict.relation).two_sided
    if verdict.status not in TOPPLED or (bound and verdict.status is Status.EXCEEDED):
        return {}, ""  # more than the range that was asked for is what was asked for
    holding = [each.reading.differs for each in tried if each.outcome.holds]
    unsaid = [each.outcome for each in tried if each.reading.differs == UNSTATED]
    if UNSTATED in holding or (claim.kind.forecast and "work" in holding):
        return _open(Why.HANGS_ON_UNSTATED), ""
    missed = verdict.status is Status.NOT_REPRODUCED
    beating = [outcome for outcome in unsaid if missed and _beats(claim, outcome)]
    if beating:
        under = counted(len(beating), "reading")
        words = f" More than the figure comes out under {under} that the source leaves open."
        return _open(Why.HANGS_ON_UNSTATED), words
    missing, other = _missing(tried)
    if not missing:
        return ({"status": Status.MISSTATED, "why": CAUSES[other]} if other else {}), ""
    unmeasured = sum(each.outcome.measured is None for each in missing)
    lacking = (
        f", {unmeasured} of which {agreeing(unmeasured, 'was', 'were')} not measured here"
        if unmeasured
        else ""
    )
    words = (
        f" Not final: by its plain meaning the figure is {verdict.status.word}, but "
        f"{counted(len(missing), 'other reading')} could still hold{lacking}."
    )
    return _open(Why.READING_MISSING), words


def _by_itself(case: Case, claim: Claim, target: str, tried: Sequence[TriedReading]) -> bool:
    """Return whether the source's own program, and no rebuild, gives a claim's figure by the work
    that it counts: of a ratio, both of its sides.
    """
    ran = all(
        isinstance(side.evaluation, ways.Program)
        or (built_as_typed(case, side) and printed_beside(case, side, target))
        for side in sides_of(case, claim)
    )
    return ran and any(
        each.outcome.holds
        for each in tried
        if ways.PRINTED in (each.reading.id, getattr(each.reading.evaluation, "under", None))
    )


def _beats(claim: Claim, outcome: VerdictReading) -> bool:
    """Return whether a reading gives more than a claimed figure, by more than its margin.

    Of a ratio of two figures neither side is the better one, nor is of two things said to be alike.
    """
    ratio = isinstance(claim.evaluation, Derived) and claim.evaluation.flops is None
    if ratio or claim.relation is not Relation.EQUALS or outcome.holds is not False:
        return False
    if claim.value is None or outcome.measured is None or outcome.reason is not None:
        return False
    more = outcome.measured > claim.value
    return not more if claim.unit in TIME_UNITS else more


def _open(why: Why) -> dict[str, Status | Why | str]:
    return {"status": Status.INCONCLUSIVE, "why": why, "reason": why.value}


def _outcome(
    case: Case, target: str, reading: Reading, meant: Claim, measured: Measured | Failure
) -> VerdictReading:
    """How the claim as it is meant stands by what was measured."""
    outcome = VerdictReading(
        id=reading.id, says=reading.says, primary=False, measured=None, ci90=None, holds=None
    )
    if isinstance(measured, Failure) or measured.broken is not None:
        reason = measured.explanation if isinstance(measured, Failure) else measured.broken
        return outcome.model_copy(update={"reason": reason})
    value, ci90 = measured.told_in(meant.unit or claimed_value(meant)[1])
    holds, wanting = _standing(case, meant, target, decision_on(case, meant, measured).status)
    found = {"measured": value, "ci90": ci90, "holds": holds, "reason": wanting}
    return outcome.model_copy(update=found | {"work_ratio": _work_ratio(measured)})


def _standing(
    case: Case, claim: Claim, target: str, status: Status
) -> tuple[bool | None, str | None]:
    """Return whether a figure of that status holds, and why a ratio that fits does not.

    A ratio holds no better than its parts do under the reading that is meant. An order is a
    statement of its own, whatever the two figures are, and so is a ratio of times.
    """
    holds, evaluation = _holds(claim, status), claim.evaluation
    if not holds or not isinstance(evaluation, Derived) or evaluation.flops is not None:
        return holds, None
    wanting: dict[str, bool | None] = {}
    for part in () if claim.states_an_order else parts_of(case, evaluation):
        measured = measure_part(case, evaluation, part, target)
        if isinstance(measured, Measured):
            wanting[part.id] = _holds(part, decision_on(case, part, measured).status)
    wanting = {name: held for name, held in wanting.items() if not held}
    if not wanting:
        return True, None
    named = " and ".join(
        f"{name} {'is open' if held is None else 'does not hold'}" for name, held in wanting.items()
    )
    text = f"The ratio fits, but not the figures that it is formed from: {named}."
    return (False if False in wanting.values() else None), text


def _holds(claim: Claim, status: Status) -> bool | None:
    """Whether the figure lies within the margin, or on the claimed side of a bound however far;
    None while that is open.
    """
    if not status.facts.decided:
        return None
    beyond = status is Status.EXCEEDED and not claim.relation.two_sided
    return status is Status.REPRODUCED or beyond


def _work_ratio(measured: Measured) -> float | None:
    if measured.unit is not Unit.TFLOP_PER_S or measured.work_ratio is None:
        return None
    return significant(measured.work_ratio)


def _told(status: Status, holding: int, tried: list[VerdictReading]) -> str:
    """Return how many readings were tried, and under which of them the figure holds; of one that is
    exceeded, whether it is matched.
    """
    measured = [outcome for outcome in tried if outcome.measured is not None]
    if not measured:
        return f"None of {counted(len(tried), 'other reading')} could be measured."
    count = f"{counted(len(measured), 'other reading')} {agreeing(len(measured), 'was', 'were')}"
    missing = len(tried) - len(measured)
    lacking = f" ({missing} more could not be)" if missing else ""
    unsettled = sum(outcome.holds is None for outcome in measured)
    alone = len(measured) == 1
    still = f" Under {unsettled} it is open." if unsettled else ""
    if not holding:
        holds, not_so = ("holds", "does not hold")
        if status is Status.EXCEEDED:
            holds, not_so = ("is matched", "is not matched")
        none = f"{not_so} under it" if alone else f"{holds} under none of them"
        if unsettled:
            none = f"{holds} under none of them for certain"
        return f"{count} measured{lacking}; the figure {none}.{still}"
    under = "it" if alone else f"{holding} of them"
    return f"{count} measured{lacking}; the figure holds under {under}.{still}"
