"""Further looks: on which measurements open verdicts hang, and the record of several looks.

It judges, so steps that look no further leave it alone: its imports take half a second.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from assay.evidence.stages import benchmark_path
from assay.judging.case import Case, Failure, Measured, Question
from assay.judging.decision import margin_of
from assay.judging.judge import judged
from assay.judging.measured import measure_claim, measure_part, measure_terms, parts_of
from assay.judging.own_program import own_program
from assay.judging.readings import waited_for
from assay.judging.verdicts import claimed_value, decision_on
from assay.records import evaluations as ways
from assay.records.base import GpuSpan
from assay.records.claims import Claim
from assay.records.measurements import BenchmarkRecord, Process
from assay.records.plan import Answer
from assay.records.verdicts import Status, Verdict, Why
from assay.records.workloads import Judging
from assay.statistics.intervals import half_width
from assay.statistics.looks import at_look, least_half_width
from assay.statistics.summaries import CONTROL, Summary

BEFORE = ("too_few_processes", "no_control", "no_usable_blocks")
"""Reasons of an open verdict that say nothing of how many processes would do."""


def hanging(case: Case, target: str) -> set[str]:
    """Return comparisons where a verdict hangs and a further look, scattering alike, may decide."""
    found = set[str]()
    for answer, verdict in judged(case, target):
        if verdict.status is Status.INCONCLUSIVE:
            found |= _deciding(case, answer, verdict)
    return found


def _deciding(case: Case, answer: Answer, verdict: Verdict) -> set[str]:
    """Return the comparisons of which a look may decide a verdict: of the claim's own figures, or
    of all readings it waits for, unless one of these stays open whatever the others give.
    """
    claim = case.catalog.claims.get(answer.claim)
    if claim is None:
        return set()
    target = Question(case, answer, claim).target
    if verdict.reason != Why.READING_MISSING.value:
        return _deciding_figures(case, claim, target)
    found = [
        set() if each.meant is claim else _deciding_figures(case, each.meant, target)
        for each in waited_for(case, claim, target)
    ]
    return set[str]().union(*found) if all(found) else set()


def _deciding_figures(case: Case, claim: Claim, target: str) -> set[str]:
    """Return the comparisons of which a further look may decide a claim as it is meant."""
    return {
        name
        for meant, figure in _figures(case, claim, target)
        for name in _worth_it(case, meant, figure, target)
    }


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
        if needed and _settled_half(case, claim, target) > needed[1] + _slack(needed[0]):
            return
    for name, record in _benchmarks(case, figure.evidence, target):
        left = _is_look_left(record)
        control = case.catalog.comparisons[name].control
        lost = reason == "no_control" and control in record.not_timed
        few = reason in BEFORE and not lost
        if left and (few or (needed and may_decide(*needed, record.looks, judging))):
            yield name


def _is_look_left(record: BenchmarkRecord) -> bool:
    return len(record.processes) < max(record.looks, default=0)


def may_decide(summary: Summary, distance: float, looks: Sequence[int], judging: Judging) -> bool:
    """Return whether half the interval of the last look may be no more than ``distance`` (a log)
    from its centre, which may lie elsewhere by then.
    """
    last = looks[-1]
    half = half_width(summary.spread, last, at_look(judging, looks, last))
    return max(half, least_half_width(judging, looks, last)) <= distance + _slack(summary)


def _slack(summary: Summary) -> float:
    """Return how far the centre of an interval may move with further looks (a log)."""
    return summary.spread / math.sqrt(summary.processes)


def _settled_half(case: Case, claim: Claim, target: str) -> float:
    """Return half the interval that a derived figure's sides without a further look add (a log)."""
    if not isinstance(claim.evaluation, ways.Derived):
        return 0.0
    half = 0.0
    for part in parts_of(case, claim.evaluation):
        side = measure_part(case, claim.evaluation, part, target)
        if isinstance(side, Measured) and not any(
            _is_look_left(record) for _, record in _benchmarks(case, side.evidence, target)
        ):
            half += (side.summary.high - side.summary.low) / 2
    return half


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


def with_look(
    earlier: BenchmarkRecord | None, later: BenchmarkRecord, looks: Sequence[int], control: str
) -> BenchmarkRecord:
    """Return a record with a further look; an arm lost meanwhile loses all its samples."""
    if earlier is None:
        return later.model_copy(update={"looks": tuple(looks) if len(looks) > 1 else ()})
    lost = {name for name in later.not_timed if name not in earlier.not_timed}
    lost |= {CONTROL} if control in lost else set()
    before = tuple(_without(process, lost) for process in earlier.processes)
    spans = [span for span in (earlier.on_gpu, later.on_gpu) if span is not None]
    return earlier.model_copy(
        update={
            "not_timed": {**earlier.not_timed, **later.not_timed},
            "wrong": tuple(dict.fromkeys((*earlier.wrong, *later.wrong))),
            "processes": (*before, *later.processes),
            "seconds": round(earlier.seconds + later.seconds, 4),
            "remarks": tuple(dict.fromkeys((*earlier.remarks, *later.remarks))),
            "on_gpu": GpuSpan(began=spans[0].began, ended=spans[-1].ended) if spans else None,
        }
    )


def _without(process: Process, arms: set[str]) -> Process:
    """Return a process without the samples of ``arms``."""
    blocks = tuple(
        block.model_copy(
            update={"turns": tuple(turn for turn in block.turns if turn.arm not in arms)}
        )
        for block in process.blocks
    )
    facts = tuple(entry for entry in process.arms if entry.arm not in arms)
    return process.model_copy(update={"arms": facts, "blocks": blocks})
