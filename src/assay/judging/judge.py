"""The judge: claims and records in, verdicts out. A pure function; ``verify`` runs it again.

One verdict for each answer of the plan, in the plan's order. The rules are those of the design and
measurement pages; ``assay.judging`` holds one module for each way a claim can be answered.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from assay.base.errors import BadInput
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import plan_path
from assay.judging import RULES, without_gpu
from assay.judging.case import Case, Failure, Measured, Question
from assay.judging.causes import as_elsewhere, cause_of, say_what_is_shared, with_known_causes
from assay.judging.composed_verdicts import Part, judge_worst_term, no_better_than_parts
from assay.judging.measured import measure_claim, nearest
from assay.judging.own_program import answers_alone, counted_otherwise, how_to_get_it, own_program
from assay.judging.readings import weigh_readings
from assay.judging.suspicions import suspicion_words
from assay.judging.verdicts import (
    decided,
    decision_on,
    fail,
    judge_execution,
    judge_gate_figure,
    judge_program,
    judge_self_check,
)
from assay.records import evaluations as ways
from assay.records.evaluations import NotRun
from assay.records.plan import Answer
from assay.records.verdicts import Status, Verdict, VerdictsFile

NO_GPU = (NotRun.NO_DEVICE, NotRun.DRIVER_TOO_OLD, NotRun.NOT_SELECTED)
"""Reasons of a plan for which nothing runs on a target."""
Judged = Callable[[Question, Any], Verdict | Failure]
WITHOUT_GPU: dict[type, Judged] = {
    ways.Arithmetic: without_gpu.judge_arithmetic,
    ways.Inspection: without_gpu.judge_inspection,
    ways.DeviceCode: without_gpu.judge_device_code,
    ways.Support: without_gpu.judge_support,
    ways.Compiles: without_gpu.judge_compiles,
}
UNTIMED: dict[type, Judged] = {
    ways.Execution: judge_execution,
    ways.GateFigure: judge_gate_figure,
}
"""What judges a claim by the way in which it is answered."""


def judge(catalog: Catalog, evidence: Evidence) -> VerdictsFile:
    """Return the verdicts of a run. Raises BadInput where plan and catalog do not fit together."""
    case = Case(catalog, evidence)
    verdicts = tuple(verdict for _, verdict in judged(case))
    return VerdictsFile(
        schema="assay/verdicts/2",
        run=evidence.plan.run,
        rules=RULES,
        verdicts=with_known_causes(say_what_is_shared(case, verdicts)),
    )


def judged(case: Case, target: str | None = None) -> list[tuple[Answer, Verdict]]:
    """Return every answer of the plan with its verdict; of one target, where it is named."""
    answers = (each for each in case.evidence.plan.answers if target in (None, each.target))
    return [(answer, _judge_answer(case, answer)) for answer in answers]


def _judge_answer(case: Case, answer: Answer) -> Verdict:
    entry = case.catalog.audits.get(answer.claim)
    if entry is not None:
        result = without_gpu.judge_audit(Question(case, answer), entry)
        return result.model_copy(update={"why": cause_of(result, None, own=False)})
    claim = case.catalog.claims.get(answer.claim)
    if claim is None:
        raise BadInput(f"the plan answers '{answer.claim}', which is no claim of this catalog")
    return as_elsewhere(claim, _with_cause(Question(case, answer, claim)))


def _with_cause(ask: Question) -> Verdict:
    """Return the verdict on a claim as if it were for the target that is asked about."""
    result = _judge_claim(ask)
    own = ask.case.own_statement(ask.claim.id)
    why = cause_of(result, ask.claim, own=own)
    return ask.case.adding(result, suspicion_words(ask.case, ask.claim, ask.target), why=why)


def _judge_claim(ask: Question) -> Verdict:
    """The source's own program decides where it was run and gave a figure."""
    case, claim, target = ask.case, ask.claim, ask.answer.target
    own = own_program(case, claim, target)
    if isinstance(own, Measured):
        return weigh_readings(ask, decided(ask, own))
    if isinstance(own, Failure) and answers_alone(claim):
        return fail(ask, own)
    result = _judge_without(ask)
    beside = None if own else counted_otherwise(case, claim, target)
    printed = own or (beside and beside[1])
    if isinstance(printed, Failure):
        return case.adding(result, printed.explanation, printed.evidence)
    return case.adding(result, " ".join(printed.notes) if printed else how_to_get_it(case, result))


def _judge_without(ask: Question) -> Verdict:
    """Return the verdict by what this repository runs."""
    answer, evaluation = ask.answer, ask.claim.evaluation
    # A project's claim, whatever else it waits for, may have been planned without a GPU.
    lacks_gpu = ask.case.catalog.project is not None and answer.reason in NO_GPU
    if isinstance(evaluation, ways.Unanswerable) and not lacks_gpu:
        return _not_run(ask, evaluation.reason, evaluation.detail)
    if answer.way == "not_run":
        return _not_run(ask, answer.reason or NotRun.RUN_FAILED, answer.detail)
    found = _judge_here(ask)
    return fail(ask, found) if isinstance(found, Failure) else found


def _judge_here(ask: Question) -> Verdict | Failure:
    """Return the verdict by the way in which a claim is answered."""
    case, claim = ask.case, ask.claim
    way = type(claim.evaluation)
    if way not in WITHOUT_GPU and ask.target not in case.catalog.targets:
        raise BadInput(f"the plan measures '{claim.id}' on no known target")
    judged = WITHOUT_GPU.get(way) or UNTIMED.get(way)
    if judged is not None:
        return judged(ask, claim.evaluation)
    match claim.evaluation:
        case ways.Program() as evaluation if claim.value is None:
            return judge_self_check(ask, evaluation)
        case ways.Program() as evaluation:
            result = judge_program(ask, evaluation)
        case ways.Benchmark() as evaluation if len(evaluation.terms) > 1:
            result = judge_worst_term(ask, evaluation)
        case evaluation:
            found = measure_claim(case, claim, ask.target)
            result = fail(ask, found) if isinstance(found, Failure) else decided(ask, found)
    result = weigh_readings(ask, result)
    if not isinstance(evaluation, ways.Derived) or evaluation.flops or claim.states_an_order:
        return result
    names = (evaluation.numerator, evaluation.denominator)
    return no_better_than_parts(result, {name: _part(ask, name) for name in names})


def _part(ask: Question, name: str) -> Part:
    """Return how another claim stands on the same target, wherever that claim is for."""
    claim = ask.case.catalog.claims[name]
    asked = replace(ask, answer=ask.answer.model_copy(update={"claim": name}), stated=claim)
    result = _with_cause(asked)
    measured = measure_claim(ask.case, claim, ask.target)
    if result.status is not Status.MISSTATED or not isinstance(measured, Measured):
        return Part(result, result.status)
    return Part(result, decision_on(ask.case, claim, measured).status)


def _not_run(ask: Question, reason: NotRun, detail: str) -> Verdict:
    return ask.verdict(
        Status.NOT_RUN,
        detail,
        reason=reason.value,
        nearest=nearest(ask.case, ask.claim),
        evidence=(plan_path(),),
    )
