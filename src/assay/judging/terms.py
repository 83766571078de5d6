"""Verdicts on benchmarks: of one term, or of the worst of several."""

import math
from dataclasses import dataclass, replace

from assay.judging import remedy
from assay.judging.benchmark import measure_term
from assay.judging.case import Case, Failure, Measured, from_base, significant
from assay.judging.decision import Decision
from assay.judging.verdicts import claimed_value, decided, decision_on, fail
from assay.judging.worst import (
    TermFigure,
    bounded,
    lowest_is_worst,
    measure_terms,
    stricter,
    worst_of,
)
from assay.records.claims import Claim
from assay.records.evaluations import Benchmark
from assay.records.figure_words import number, quantity, readable
from assay.records.plan import Answer
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict
from assay.shared.counting import counted


def judge_benchmark(
    case: Case, answer: Answer, claim: Claim, evaluation: Benchmark, target: str
) -> Verdict:
    """Return the verdict on a benchmark's only term, or on the worst of its terms."""
    if bounded(case, evaluation):
        return _judge_bounds(case, answer, claim, evaluation, target)
    verdicts: list[tuple[int, float, str, Verdict]] = []
    for term in evaluation.terms:
        measured = measure_term(case, target, evaluation.metric, term, claim.counting)
        name = f"{term.arm} of {term.comparison}"
        if isinstance(measured, Failure):
            one = fail(case, answer, claim, measured)
            distance = 0.0
        else:
            one = decided(case, answer, claim, measured)
            distance = measured.summary.estimate * (-1 if measured.unit is Unit.MS else 1)
        verdicts.append((one.status.facts.severity, distance, name, one))
    _, _, name, worst = min(verdicts, key=lambda entry: entry[:2])
    if len(verdicts) == 1:
        return worst
    # By the rule of earlier evidence; its words stay as they were signed.
    others = "; ".join(f"{n}: {v.status.value}" for _, _, n, v in verdicts if n != name)
    text = f"Worst of {len(verdicts)} terms, {name}: {worst.explanation} The others: {others}."
    paths = dict.fromkeys(path for *_, v in verdicts for path in v.evidence)
    return worst.model_copy(update={"explanation": text, "evidence": tuple(paths)})


@dataclass(frozen=True)
class _Decided:
    """One of several terms and what is decided of it alone."""

    name: str
    figure: Measured | Failure
    status: Status
    decision: Decision | None
    """None where there is no figure."""


def _decide_term(case: Case, claim: Claim, evaluation: Benchmark, entry: TermFigure) -> _Decided:
    if isinstance(entry.figure, Failure):
        return _Decided(entry.name, entry.figure, entry.figure.status, None)
    decision = decision_on(case, claim, entry.figure)
    if decision.reason == "interval_straddles":
        words = _narrower(case, claim, evaluation, entry) or decision.remedy
        decision = replace(decision, remedy=words)
    return _Decided(entry.name, entry.figure, decision.status, decision)


def _narrower(case: Case, claim: Claim, evaluation: Benchmark, entry: TermFigure) -> str | None:
    """Return what would bring the end of the interval that straddles to the figure's other side."""
    if entry.own is None or entry.wide is None:
        return None
    claimed, _ = claimed_value(claim)
    above = entry.own.estimate >= math.log(claimed)
    judging = case.catalog.judging
    if above == lowest_is_worst(claim, evaluation):
        return remedy.one_sided(entry.own, claimed, judging)
    return remedy.one_sided(entry.wide, claimed, stricter(judging, len(evaluation.terms)))


def _judge_bounds(
    case: Case, answer: Answer, claim: Claim, evaluation: Benchmark, target: str
) -> Verdict:
    """Reproduced when every term alone is; the figure and its interval are the worst term's."""
    lowest = lowest_is_worst(claim, evaluation)
    terms = [
        _decide_term(case, claim, evaluation, entry)
        for entry in measure_terms(case, claim, evaluation, target)
    ]
    first = min(terms, key=lambda term: (term.status.facts.severity, _badness(term, lowest)))
    named = "; ".join(_term_words(claim, term) for term in terms)
    if isinstance(first.figure, Failure):
        result = fail(case, answer, claim, first.figure)
        begin = f"Of {counted(len(terms), 'term')}, {first.name} decides."
    else:
        figures = [term.figure for term in terms if isinstance(term.figure, Measured)]
        worst = worst_of(figures, lowest)
        result = decided(case, answer, claim, worst, first.decision)
        name = _name_of(terms, worst)
        given = counted(len(terms), "term")
        if len(figures) < len(terms):
            given = f"the {len(figures)} of {counted(len(terms), 'term')} that have a figure"
        begin = f"The worst of {given} is {name}."
        if name != first.name:
            begin = f"{begin} What decides is {first.name}."
    text = f"{begin} {result.explanation} All terms: {named}."
    return result.model_copy(update={"explanation": text})


def _badness(term: _Decided, lowest: bool) -> float:
    """Orders terms of one status, the worst first; those without a figure before all."""
    if isinstance(term.figure, Failure):
        return float("-inf")
    return term.figure.summary.estimate * (1 if lowest else -1)


def _name_of(terms: list[_Decided], worst: Measured) -> str:
    """The name of the term whose figure ``worst`` carries."""
    estimate = worst.summary.estimate
    return next(
        term.name
        for term in terms
        if isinstance(term.figure, Measured) and term.figure.summary.estimate == estimate
    )


def _term_words(claim: Claim, term: _Decided) -> str:
    """A term's figure, interval and status, in words."""
    status = term.status.word
    if isinstance(term.figure, Failure):
        return f"{term.name} {status}"
    unit = claim.unit or term.figure.unit
    value = significant(from_base(term.figure.summary.value(), unit))
    factor, _ = readable(value, unit)
    ends = (significant(from_base(x, unit)) for x in term.figure.summary.interval())
    interval = ", ".join(number(end * factor) for end in ends)
    return f"{term.name} {quantity(value, unit)} [{interval}] {status}"
