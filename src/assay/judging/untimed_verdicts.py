"""Verdicts on what runs on a GPU and is not timed: outputs, checks, whether it runs at all."""

from dataclasses import replace

from assay.evidence.stages import correctness_path
from assay.judging.benchmark import evidence_paths
from assay.judging.case import Case, Failure, measured_on, not_run, significant, verdict
from assay.judging.cutlass_output import job_id, parse
from assay.judging.gates import absent, gate_correctness
from assay.judging.measured import nearest
from assay.judging.program import measure_program, verification
from assay.judging.what_ran import program_version, versions_words, what_ran
from assay.records.claims import Claim, Relation
from assay.records.evaluations import (
    PASSES,
    RUNS,
    Accuracy,
    Completeness,
    Execution,
    NotRun,
    Program,
    Term,
)
from assay.records.measurements import ArmCorrectness
from assay.records.plan import Answer
from assay.records.units import number
from assay.records.verdicts import Status, Verdict
from assay.records.workloads import Arm
from assay.shared.counting import counted

REFUSES = "refuses"


AT_THE_TIMED_SHAPE = ("timed_shape", "repeat")
"""Checks of outputs at the workload's own shape, with first and with new contents."""


def judge_gate_figure(
    case: Case, answer: Answer, claim: Claim, evaluation: Accuracy | Completeness, target: str
) -> Verdict | Failure:
    """Return whether a figure of the gate keeps the claimed bound.

    The largest error of an arm's outputs, over every element that was checked; or the share of
    products that it does, counted. No interval belongs to either.
    """
    term = evaluation.term
    paths = (correctness_path(target, term.comparison),)
    record = case.evidence.correctness.get((target, term.comparison))
    if record is None:
        failure = absent(case, target, case.catalog.comparisons[term.comparison], term)
        return replace(failure, evidence=paths)
    if failed := gate_correctness(case, record, term.arm, True):
        return replace(failed, evidence=paths)
    arm = next(arm for arm in record.arms if arm.arm == term.arm)
    if isinstance(evaluation, Accuracy):
        found, explanation = _largest_error(case, claim, target, arm)
        agrees = _keeps(claim, found, otherwise=Relation.AT_MOST)
    elif arm.true_product is None or not arm.true_product.true_products:
        text = f"The gate counted no products of {arm.variant} on {arm.workload}."
        return not_run(NotRun.NOT_RECORDED, text, paths)
    else:
        found, explanation = _share_of_products(claim, arm)
        agrees = _keeps(claim, found, otherwise=Relation.AT_LEAST)
    return verdict(
        case,
        answer,
        Status.REPRODUCED if agrees else Status.NOT_REPRODUCED,
        explanation,
        claim=claim,
        measured=found,
        artifact=what_ran(case, target, [arm.variant]).artifact,
        gpu_uuid=record.gpu_uuid if case.evidence.platforms.get(target) else None,
        binary_sha256=arm.binary_sha256,
        measured_on=measured_on(case, target, record.gpu_uuid),
        ran=f"{arm.variant} on {arm.workload}",
        evidence=paths,
    )


def _keeps(claim: Claim, found: float, *, otherwise: Relation) -> bool:
    """Return whether a figure is on the claimed side; ``otherwise``: that of an equality."""
    relation = otherwise if claim.relation.two_sided else claim.relation
    claimed = claim.value or 0.0
    return found <= claimed if relation is Relation.AT_MOST else found >= claimed


def _largest_error(case: Case, claim: Claim, target: str, arm: ArmCorrectness) -> tuple[float, str]:
    errors = [
        check.max_abs_error
        for check in arm.checks
        if check.name in AT_THE_TIMED_SHAPE and check.max_abs_error is not None
    ]
    worst = max(errors)  # an arm that passed the gate has some
    return worst, (
        f"On {case.catalog.targets[target].product} no element of {arm.variant}'s output on "
        f"{arm.workload} is further from the oracle than {number(worst)}, in "
        f"{counted(len(errors), 'output')}; the source says {claim.as_printed}."
    )


def _share_of_products(claim: Claim, arm: ArmCorrectness) -> tuple[float, str]:
    found = arm.true_product
    assert found is not None
    share, error = significant(100 * (1 - found.missed)), found.relative_error
    off = "" if error is None else f" Its output is off by {number(error)} of the right one's norm."
    return share, (
        f"{arm.variant} on {arm.workload} does {found.products} of the {found.true_products} "
        f"products of stored blocks that meet, {number(share)} %.{off}"
        f"{f' {claim.note}' if claim.note else ''}"
    )


def judge_execution(
    case: Case, answer: Answer, claim: Claim, evaluation: Execution, target: str
) -> Verdict | Failure:
    """Return whether every arm runs and passes the gate; no time is looked at.

    An arm that refuses the problem on this GPU contradicts the claim; one that crashed, or is not
    installed, says nothing of it.
    """
    paths = tuple(path for term in evaluation.terms for path in evidence_paths(case, target, term))
    words, refused, gpu = [], False, None
    for term in evaluation.terms:
        record = case.evidence.correctness.get((target, term.comparison))
        if record is None:
            failure = absent(case, target, case.catalog.comparisons[term.comparison], term)
            return replace(failure, evidence=paths)
        failed, gpu = gate_correctness(case, record, term.arm, True), record.gpu_uuid
        if failed is None:
            checks = sum(len(arm.checks) for arm in record.arms if arm.arm == term.arm)
            words.append(f"{_arm(case, term)} passes {counted(checks, 'check')}")
        elif failed.reason == NotRun.NOT_IN_BUILD.value:
            refused = True
            words.append(failed.explanation.rstrip("."))
        else:
            return replace(failed, evidence=paths)
    platform = case.evidence.platforms.get(target)
    variants = [_planned(case, term).variant for term in evaluation.terms]
    return verdict(
        case,
        answer,
        Status.NOT_REPRODUCED if refused else Status.REPRODUCED,
        f"On {case.catalog.targets[target].product}: {'; '.join(words)}.",
        claim=claim,
        measured=REFUSES if refused else RUNS,
        artifact=what_ran(case, target, variants).artifact,
        gpu_uuid=gpu if platform else None,
        measured_on=measured_on(case, target, gpu),
        ran="; ".join(_arm(case, term) for term in evaluation.terms),
        nearest=nearest(case, claim),
        evidence=paths,
    )


def _arm(case: Case, term: Term) -> str:
    arm = _planned(case, term)
    return f"{arm.variant} on {arm.workload}"


def _planned(case: Case, term: Term) -> Arm:
    return next(a for a in case.catalog.comparisons[term.comparison].arms if a.id == term.arm)


def judge_self_check(
    case: Case, answer: Answer, claim: Claim, evaluation: Program, target: str
) -> Verdict | Failure:
    """Return whether every run passed the program's own check; a run that failed it is incorrect,
    and one that nobody checked says nothing.
    """
    arguments = evaluation.stated.arguments
    runs = measure_program(case, target, evaluation, arguments, None)
    if isinstance(runs, Failure):
        return runs
    program = case.catalog.programs[evaluation.program]
    record = case.evidence.programs[target, job_id(program.id, arguments)]
    outputs = [parse(program.parser, run.stdout) for run in record.runs]
    passed, checked = verification(program, record, outputs, runs.figure)
    paths = runs.measured.evidence
    if not passed:
        return not_run(NotRun.RUN_FAILED, checked, paths)
    words = checked or f"{program.title} passes its own check in {len(outputs)} runs."
    versions = (
        program_version(case, target, claim, program.id),
        versions_words(case, target, claim),
    )
    return verdict(
        case,
        answer,
        Status.REPRODUCED,
        " ".join(sentence for sentence in (words, *versions) if sentence),
        claim=claim,
        measured=PASSES,
        artifact="original",
        binary_sha256=runs.measured.binary_sha256,
        gpu_uuid=runs.measured.gpu_uuid,
        measured_on=measured_on(case, target, runs.measured.gpu_uuid),
        ran=runs.measured.ran,
        evidence=paths,
    )
