"""The judge: claims and records in, verdicts out. A pure function; ``verify`` runs it again.

One verdict for each answer of the plan, in the plan's order. The rules are those of the design and
measurement pages; ``assay.judging`` holds one module for each way a claim can be answered.
"""

from assay.base.errors import BadInput
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import plan_path
from assay.judging.case import Case, Failure, Measured, adding, not_run, verdict
from assay.judging.causes import as_elsewhere, cause_of, say_what_is_shared, with_known_causes
from assay.judging.compile_verdicts import judge_compiles, judge_support
from assay.judging.composed_verdicts import Part, judge_worst_term, no_better_than_parts
from assay.judging.measured import measure_claim, nearest
from assay.judging.own_program import answers_alone, counted_otherwise, how_to_get_it, own_program
from assay.judging.readings import weigh_readings
from assay.judging.rules import RULES
from assay.judging.untimed_verdicts import judge_execution, judge_gate_figure, judge_self_check
from assay.judging.verdicts import decided, decision_on, fail, judge_program
from assay.judging.without_gpu import (
    judge_arithmetic,
    judge_audit,
    judge_device_code,
    judge_inspection,
)
from assay.records.claims import Claim
from assay.records.evaluations import (
    Accuracy,
    Arithmetic,
    Benchmark,
    Compiles,
    Completeness,
    Derived,
    DeviceCode,
    Execution,
    Inspection,
    NotRun,
    Program,
    Support,
    Unanswerable,
)
from assay.records.plan import Answer
from assay.records.verdicts import Status, Verdict, VerdictsFile


def judge(catalog: Catalog, evidence: Evidence) -> VerdictsFile:
    """Return the verdicts of a run. Raises BadInput where plan and catalog do not fit together."""
    case = Case(catalog, evidence)
    return VerdictsFile(
        schema="assay/verdicts/2",
        run=evidence.plan.run,
        rules=RULES,
        verdicts=with_known_causes(
            say_what_is_shared(
                case, tuple(_judge_answer(case, answer) for answer in evidence.plan.answers)
            )
        ),
    )


def _judge_answer(case: Case, answer: Answer) -> Verdict:
    entry = case.catalog.audits.get(answer.claim)
    if entry is not None:
        result = judge_audit(case, answer, entry)
        return result.model_copy(update={"why": cause_of(result, None, own=False)})
    claim = case.catalog.claims.get(answer.claim)
    if claim is None:
        raise BadInput(f"the plan answers '{answer.claim}', which is no claim of this catalog")
    return as_elsewhere(claim, _with_cause(case, answer, claim))


def _with_cause(case: Case, answer: Answer, claim: Claim) -> Verdict:
    """Return the verdict on a claim as if it were for the target of ``answer``."""
    result = _judge_claim(case, answer, claim)
    why = cause_of(result, claim, own=case.own_statement(claim.id))
    return result.model_copy(update={"why": why})


NO_GPU = (NotRun.NO_DEVICE, NotRun.DRIVER_TOO_OLD, NotRun.NOT_SELECTED)
"""Reasons of a plan for which nothing runs on a target."""


def _judge_claim(case: Case, answer: Answer, claim: Claim) -> Verdict:
    """The source's own program decides where it was run and gave a figure."""
    own = own_program(case, claim, answer.target)
    if isinstance(own, Measured) and answer.target is not None:
        result = decided(case, answer, claim, own)
        return weigh_readings(case, claim, answer.target, result)
    if isinstance(own, Failure) and answers_alone(claim):
        return fail(case, answer, claim, own)
    result = _judge_without(case, answer, claim)
    beside = None if own else counted_otherwise(case, claim, answer.target)
    printed = own or (beside and beside[1])
    if isinstance(printed, Failure):
        return adding(case, result, printed.explanation, printed.evidence)
    return adding(case, result, " ".join(printed.notes) if printed else how_to_get_it(case, result))


def _judge_without(case: Case, answer: Answer, claim: Claim) -> Verdict:
    """Return the verdict by what this repository runs."""
    evaluation = claim.evaluation
    # A project's claim, whatever else it waits for, may have been planned without a GPU.
    lacks_gpu = case.catalog.project is not None and answer.reason in NO_GPU
    if isinstance(evaluation, Unanswerable) and not lacks_gpu:
        return _not_run(case, answer, claim, evaluation.reason, evaluation.detail)
    if answer.way == "not_run":
        return _not_run(case, answer, claim, answer.reason or NotRun.RUN_FAILED, answer.detail)
    found = _without_gpu(case, answer, claim) or _on_gpu(case, answer, claim)
    return fail(case, answer, claim, found) if isinstance(found, Failure) else found


def _without_gpu(case: Case, answer: Answer, claim: Claim) -> Verdict | Failure | None:
    """Return how a claim stands that needs no GPU; None of any other."""
    match claim.evaluation:
        case Arithmetic() as evaluation:
            return judge_arithmetic(case, answer, claim, evaluation)
        case Inspection() as evaluation:
            return judge_inspection(case, answer, claim, evaluation)
        case DeviceCode() as evaluation:
            return judge_device_code(case, answer, claim, evaluation)
        case Support() as evaluation:
            built = judge_support(case, answer, claim, evaluation)
        case Compiles() as evaluation:
            built = judge_compiles(case, answer, claim, evaluation)
        case _:
            return None
    if isinstance(built, Failure):
        return built
    return built.model_copy(update={"nearest": nearest(case, claim)})  # what ran beside it


def _on_gpu(case: Case, answer: Answer, claim: Claim) -> Verdict | Failure:
    target = answer.target
    if target is None or target not in case.catalog.targets:
        raise BadInput(f"the plan measures '{claim.id}' on no known target")
    match claim.evaluation:
        case Execution() as evaluation:
            return judge_execution(case, answer, claim, evaluation, target)
        case Accuracy() | Completeness() as evaluation:
            return judge_gate_figure(case, answer, claim, evaluation, target)
        case Program() as evaluation if claim.value is None:
            return judge_self_check(case, answer, claim, evaluation, target)
        case Program() as evaluation:
            result = judge_program(case, answer, claim, evaluation, target)
        case Benchmark() as evaluation if len(evaluation.terms) > 1:
            result = judge_worst_term(case, answer, claim, evaluation, target)
        case Benchmark() | Derived() as evaluation:
            found = measure_claim(case, claim, target)
            if isinstance(found, Failure):
                result = fail(case, answer, claim, found)
            else:
                result = decided(case, answer, claim, found)
        case _:
            return not_run(NotRun.NOT_IMPLEMENTED, "No rule answers this kind of claim.")
    result = weigh_readings(case, claim, target, result)
    if isinstance(evaluation, Derived) and evaluation.flops is None:
        names = (evaluation.numerator, evaluation.denominator)
        parts = {name: _part(case, answer, name, target) for name in names}
        return no_better_than_parts(result, parts)
    return result


def _part(case: Case, answer: Answer, name: str, target: str) -> Part:
    """Return how another claim stands on the same target, wherever that claim is for."""
    claim = case.catalog.claims[name]
    result = _with_cause(case, answer.model_copy(update={"claim": name}), claim)
    measured = measure_claim(case, claim, target)
    if result.status is not Status.MISSTATED or not isinstance(measured, Measured):
        return Part(result, result.status)
    return Part(result, decision_on(case, claim, measured).status)


def _not_run(case: Case, answer: Answer, claim: Claim, reason: NotRun, detail: str) -> Verdict:
    return verdict(
        case,
        answer,
        Status.NOT_RUN,
        detail,
        claim=claim,
        reason=reason.value,
        nearest=nearest(case, claim),
        evidence=(plan_path(),),
    )
