"""Verdicts on what several measurements make: the worst of a benchmark's terms, and ratios.

A ratio stands no better than the worse of its parts, and no surer: while one of them is left open,
it does not fail for certain, nor is it misstated where none of them is. Nor does it fail because of
a figure that does not: where both parts are had, or more than had, and their ratio is not, what the
one is held against got further than it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.judging.case import Failure, Measured, Question
from assay.judging.decision import Decision, one_sided_remedy
from assay.judging.measured import TermFigure, lowest_is_worst, measure_terms, stricter, worst_of
from assay.judging.verdicts import REMEDY, claimed_value, decided, decision_on, fail
from assay.records.claims import TIME_UNITS, Claim
from assay.records.evaluations import Benchmark
from assay.records.units import number, quantity, readable
from assay.records.verdicts import Status, Verdict, Why
from assay.shared.counting import agreeing, counted


def judge_worst_term(ask: Question, evaluation: Benchmark) -> Verdict:
    """Return the verdict on a benchmark of several terms: reproduced when every term alone is.

    The figure and its interval are the worst term's.
    """
    claim = ask.claim
    lowest = lowest_is_worst(claim, evaluation)
    terms = measure_terms(ask.case, claim, evaluation, ask.target)
    pairs = [(term, _decision(ask, evaluation, term)) for term in terms]
    first, decision = min(
        pairs, key=lambda pair: (pair[1].status.facts.severity, _badness(pair[0], lowest))
    )
    measured = [(term, term.figure) for term in terms if isinstance(term.figure, Measured)]
    given = counted(len(terms), "term")
    if isinstance(first.figure, Failure):
        result = fail(ask, first.figure)
        begin = f"Of {given}, {first.name} decides."
    else:
        worst = worst_of([figure for _, figure in measured], lowest)
        result = decided(ask, worst, decision)
        estimate = worst.summary.estimate
        name = next(t.name for t, figure in measured if figure.summary.estimate == estimate)
        if len(measured) < len(terms):
            given = f"the {len(measured)} of {given} that have a figure"
        begin = f"The worst of {given} is {name}."
        if name != first.name:
            begin = f"{begin} What decides is {first.name}."
    named = "; ".join(_term_words(claim, term, each.status) for term, each in pairs)
    text = f"{begin} {result.explanation} All terms: {named}."
    return result.model_copy(update={"explanation": text})


def _decision(ask: Question, evaluation: Benchmark, term: TermFigure) -> Decision:
    """Return what is decided of one of several terms alone."""
    if isinstance(term.figure, Failure):
        return Decision(term.figure.status, term.figure.reason, term.figure.explanation)
    decision = decision_on(ask.case, ask.claim, term.figure)
    if decision.reason != "interval_straddles" or term.own is None or term.wide is None:
        return decision
    # What would bring the end of the interval that straddles to the figure's other side.
    claimed, judging = claimed_value(ask.claim)[0], ask.case.catalog.judging
    if (term.own.estimate >= math.log(claimed)) == lowest_is_worst(ask.claim, evaluation):
        return replace(decision, remedy=one_sided_remedy(term.own, claimed, judging))
    strict = stricter(judging, len(evaluation.terms))
    return replace(decision, remedy=one_sided_remedy(term.wide, claimed, strict))


def _badness(term: TermFigure, lowest: bool) -> float:
    """Orders terms of one status, the worst first; those without a figure before all."""
    if isinstance(term.figure, Failure):
        return float("-inf")
    return term.figure.summary.estimate * (1 if lowest else -1)


def _term_words(claim: Claim, term: TermFigure, status: Status) -> str:
    """A term's figure, interval and status, in words."""
    if isinstance(term.figure, Failure):
        return f"{term.name} {status.word}"
    unit = claim.unit or term.figure.unit
    value, ends = term.figure.told_in(unit)
    factor, _ = readable(value, unit)
    interval = ", ".join(number(end * factor) for end in ends)
    return f"{term.name} {quantity(value, unit)} [{interval}] {status.word}"


GOOD = (Status.REPRODUCED, Status.EXCEEDED)
"""Statuses that take nothing from a ratio."""
LEFT_OPEN = (Why.HANGS_ON_UNSTATED, Why.READING_MISSING)
"""Causes of an open ratio that has readings under which its parts hold, too, or may."""


@dataclass(frozen=True)
class Part:
    """One of the two claims that a ratio is formed from."""

    verdict: Verdict
    """Of a part that was measured elsewhere, what it would be."""
    plain: Status
    """Its status by the plain meaning of its words: another than the verdict's where the figure is
    misstated."""


def no_better_than_parts(verdict: Verdict, parts: Mapping[str, Part]) -> Verdict:
    """Return the verdict on a ratio, with status and cause of the worse part where that is worse,
    or of one that is left open where the ratio fails and no part is missed for certain.

    Two figures that are both too low may well have the claimed ratio, or more than it.
    """
    if verdict.ci90 is None or verdict.why in LEFT_OPEN:
        return verdict
    found = {name: part.verdict for name, part in parts.items()}
    if verdict.status is Status.NOT_REPRODUCED and (faster := _outrun(found)):
        named = " and ".join(f"{name} is {part.status.word}" for name, part in found.items())
        text = (
            f"{verdict.explanation} Neither figure falls short: {named}. What it is compared with, "
            f"{faster}, got faster by more."
        )
        return verdict.model_copy(update={"why": Why.COMPARATOR_FASTER, "explanation": text})
    accused = [part for part in found.values() if part.status is Status.MISSTATED]
    if verdict.status is Status.MISSTATED and accused:
        verdict = verdict.model_copy(update={"why": accused[0].why})
    holds = any(reading.holds for reading in verdict.readings if not reading.primary)
    # To be misstated is taken only where a reading of the ratio holds.
    taken = {n: part.verdict.status if holds else part.plain for n, part in parts.items()}
    lacking = [name for name, status in taken.items() if status not in GOOD]
    if not lacking:
        return verdict
    waiting = [name for name in lacking if found[name].why in LEFT_OPEN]
    missed = any(found[name].status is Status.NOT_REPRODUCED for name in lacking)
    if not missed:
        lacking = waiting or lacking  # only those left open, where no other is missed for certain
    fails = (Status.NOT_REPRODUCED, *(() if accused else (Status.MISSTATED,)))
    unsure = bool(waiting) and not missed and verdict.status in fails
    worst = min(lacking, key=lambda name: taken[name].facts.severity)
    status = taken[worst]
    named = _named({name: parts[name] for name in lacking}, taken)
    if not unsure and status.facts.severity >= verdict.status.facts.severity:
        if verdict.why is not None or not verdict.status is status is Status.NOT_REPRODUCED:
            return verdict
        # Both are missed, and nothing else is known to be the cause.
        text = f"Of the figures that it is formed from, {named}. {verdict.explanation}"
        return verdict.model_copy(update={"why": Why.PART_MISSED, "explanation": text})
    by_itself = REMEDY.sub("", verdict.explanation) if status.facts.decided else verdict.explanation
    text = (
        f"It is {status.word} because {named}: a ratio is no {'surer' if unsure else 'better'} "
        f"than the figures that it is formed from. By itself the ratio would be "
        f"{verdict.status.word}. {by_itself}"
    )
    why = found[worst].why if status is found[worst].status else None
    return verdict.model_copy(
        update={
            "status": status,
            "why": Why.PART_MISSED if status is Status.NOT_REPRODUCED else why,
            "reason": f"part_{status.value}",
            "explanation": text,
        }
    )


def _named(parts: Mapping[str, Part], taken: Mapping[str, Status]) -> str:
    """Return how parts stand by the statuses that are taken from them, those alike together."""
    alike: dict[tuple[Status, bool], list[str]] = {}
    for name, part in parts.items():
        plainly = taken[name] is not part.verdict.status
        alike.setdefault((taken[name], plainly), []).append(name)
    return " and ".join(
        f"{' and '.join(names)} {agreeing(len(names), 'is', 'are')} {status.word}"
        + (f" as {agreeing(len(names), 'its', 'their')} words plainly stand" if plainly else "")
        for (status, plainly), names in alike.items()
    )


def _outrun(parts: Mapping[str, Verdict]) -> str | None:
    """Return the part that the other is held against, by name, where that is exceeded and neither
    is missed: it is the lower rate, or the upper time.

    ``parts`` has the numerator first.
    """
    judged = [part.status for part in parts.values() if part.status.facts.decided]
    if len(parts) < 2 or any(status not in GOOD for status in judged):
        return None
    numerator, denominator = parts.items()
    name, against = numerator if numerator[1].unit in TIME_UNITS else denominator
    return name if against.status is Status.EXCEEDED else None
