"""On which measurements open verdicts hang, as far as more fresh processes may decide them."""

import math
from collections.abc import Iterable, Iterator

from assay.evidence.stages import benchmark_path
from assay.judging.case import Case, Measured, Question
from assay.judging.decision import margin_of
from assay.judging.judge import judged
from assay.judging.measured import measure_claim
from assay.judging.readings import readings_of
from assay.judging.verdicts import claimed_value, decision_on
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
    for answer, verdict in judged(case):
        if answer.target == target and verdict.status is Status.INCONCLUSIVE:
            for meant, measured in _open_figures(case, answer, verdict):
                found |= set(_worth_it(case, meant, measured, target))
    return found


def _open_figures(case: Case, answer: Answer, verdict: Verdict) -> Iterator[tuple[Claim, Measured]]:
    """Yield what a verdict waits for: its own figure, else the readings that could change it."""
    claim = case.catalog.claims.get(answer.claim)
    if claim is None:
        return
    target = Question(case, answer, claim).target
    meant = [claim]
    if verdict.reason == Why.READING_MISSING.value:
        meant = [claim.under(reading) for reading in readings_of(case, claim, target)]
    for each in meant:
        measured = measure_claim(case, each, target)
        if isinstance(measured, Measured) and measured.broken is None:
            yield each, measured


def _worth_it(case: Case, claim: Claim, measured: Measured, target: str) -> Iterator[str]:
    """Yield the comparisons of an open figure that a further look may decide."""
    judging = case.catalog.judging
    reason = decision_on(case, claim, measured).reason
    for name, record in _benchmarks(case, measured.evidence, target):
        left = [look for look in record.looks if look > len(record.processes)]
        if reason in BEFORE and left:
            yield name
        elif (needed := _needed(claim, measured, judging, reason)) is not None and left:
            summary, distance = needed
            slack = summary.spread / math.sqrt(summary.processes)  # the centre may lie elsewhere
            if _half_width(summary, judging, record.looks, left[-1]) <= distance + slack:
                yield name


def _half_width(
    summary: Summary, judging: Judging, looks: tuple[int, ...], processes: int
) -> float:
    """Return half the interval that as many processes would have, at that look."""
    rules = at_look(judging, looks, processes)
    least = least_half_width(judging, looks, processes)
    return max(half_width(summary.spread, processes, rules), least)


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
