"""On which measurements open verdicts hang, as far as more fresh processes may decide them."""

import math
from collections.abc import Iterable, Iterator, Sequence

from assay.evidence.stages import benchmark_path
from assay.judging.case import Case, Failure, Measured, Question
from assay.judging.decision import margin_of
from assay.judging.judge import judged
from assay.judging.measured import measure_claim, measure_terms, parts_of
from assay.judging.own_program import own_program
from assay.judging.readings import readings_of
from assay.judging.verdicts import claimed_value, decision_on
from assay.records import evaluations as ways
from assay.records.claims import Claim
from assay.records.measurements import BenchmarkRecord
from assay.records.plan import Answer
from assay.records.verdicts import Status, Verdict, Why
from assay.records.workloads import Judging
from assay.statistics.intervals import half_width
from assay.statistics.looks import at_look, least_half_width
from assay.statistics.summaries import Summary

BEFORE = ("too_few_processes", "no_control", "no_usable_blocks")
"""Reasons of an open verdict that say nothing of how many processes would do."""


def hanging(case: Case, target: str) -> set[str]:
    """Return the comparisons on whose samples a verdict on a target hangs, and which a look that is
    left may decide, if their processes go on to scatter as they did.
    """
    found = set[str]()
    for answer, verdict in judged(case, target):
        if verdict.status is Status.INCONCLUSIVE:
            for meant, figure in _open_figures(case, answer, verdict):
                found |= set(_worth_it(case, meant, figure, target))
    return found


def _open_figures(
    case: Case, answer: Answer, verdict: Verdict
) -> Iterator[tuple[Claim, Measured | Failure]]:
    """Yield what a verdict waits for: its own figures, else the readings that could change it."""
    claim = case.catalog.claims.get(answer.claim)
    if claim is None:
        return
    target = Question(case, answer, claim).target
    meant = [claim]
    if verdict.reason == Why.READING_MISSING.value:
        meant = [claim.under(reading) for reading in readings_of(case, claim, target)]
    for each in meant:
        yield from _figures(case, each, target)


def _figures(case: Case, claim: Claim, target: str) -> Iterator[tuple[Claim, Measured | Failure]]:
    """Yield every figure that a claim's verdict rests on: each term's, and those of its parts."""
    evaluation = claim.evaluation
    own = isinstance(own_program(case, claim, target), Measured)
    if isinstance(evaluation, ways.Benchmark) and len(evaluation.terms) > 1 and not own:
        for term in measure_terms(case, claim, evaluation, target):
            yield claim, term.figure
        return
    yield claim, measure_claim(case, claim, target)
    if own or not isinstance(evaluation, ways.Derived) or not claim.relation.two_sided:
        return
    if evaluation.flops is None and evaluation.under != ways.PRINTED:  # no better than its parts
        for part in parts_of(case, evaluation):
            yield from _figures(case, part, target)


def _worth_it(case: Case, claim: Claim, figure: Measured | Failure, target: str) -> Iterator[str]:
    """Yield the comparisons of an open figure that a further look may decide."""
    judging, needed, reason = case.catalog.judging, None, None
    if isinstance(figure, Failure):
        reason = figure.reason
    elif figure.broken is None:
        reason = decision_on(case, claim, figure).reason
        needed = _needed(claim, figure, judging, reason)
    for name, record in _benchmarks(case, figure.evidence, target):
        left = [look for look in record.looks if look > len(record.processes)]
        control = case.catalog.comparisons[name].control
        lost = reason == "no_control" and control in record.not_timed
        few = reason in BEFORE and not lost
        if left and (few or (needed and may_decide(*needed, record.looks, judging))):
            yield name


def may_decide(summary: Summary, distance: float, looks: Sequence[int], judging: Judging) -> bool:
    """Return whether half the interval of the last look may be no more than ``distance`` (a log)
    from its centre, which may lie elsewhere by then.
    """
    last, slack = looks[-1], summary.spread / math.sqrt(summary.processes)
    half = half_width(summary.spread, last, at_look(judging, looks, last))
    return max(half, least_half_width(judging, looks, last)) <= distance + slack


def _needed(
    claim: Claim, measured: Measured, judging: Judging, reason: str | None
) -> tuple[Summary, float] | None:
    """Return which interval must become narrower, and what half of it may be at most (a log)."""
    summary, control = measured.summary, measured.control
    off = abs((summary.low + summary.high) / 2 - math.log(claimed_value(claim)[0]))
    edge = math.log1p(margin_of(claim, measured.unit, judging))
    noise = abs(control.low + control.high) / 2 if control else 0.0
    match reason:
        case "interval_too_wide":
            return summary, abs(off - edge)
        case "interval_straddles":
            return summary, off
        case "margin_below_noise_floor" if control:
            return control, edge - noise
        case "within_noise_floor" if control:
            return control, off - noise
    return None


def _benchmarks(
    case: Case, evidence: Iterable[str], target: str
) -> Iterator[tuple[str, BenchmarkRecord]]:
    """Yield the benchmark records among the evidence of a figure, by comparison."""
    paths = set(evidence)
    for (of, name), record in case.evidence.benchmarks.items():
        if of == target and benchmark_path(target, name) in paths:
            yield name, record
