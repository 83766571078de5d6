"""Verdicts on what runs on a GPU and is not timed: outputs, checks, whether it runs at all."""

from dataclasses import replace

from assay.evidence.stages import correctness_path
from assay.judging.benchmark import evidence_paths
from assay.judging.case import Case, Failure, Question, not_run, significant
from assay.judging.cutlass_output import job_id, parse
from assay.judging.gates import absent, gate_correctness
from assay.judging.measured import nearest
from assay.judging.program import measure_program, verification
from assay.judging.what_ran import program_version, versions_words, what_ran
from assay.records import evaluations as ways
from assay.records.claims import Claim, Relation
from assay.records.evaluations import NotRun, Term
from assay.records.measurements import ArmCorrectness
from assay.records.units import number
from assay.records.verdicts import Status, Verdict
from assay.records.workloads import Arm
from assay.shared.counting import counted

REFUSES = "refuses"
AT_THE_TIMED_SHAPE = ("timed_shape", "repeat")
"""Checks of outputs at the workload's own shape, with first and with new contents."""


def judge_gate_figure(
    ask: Question, evaluation: ways.Accuracy | ways.Completeness
) -> Verdict | Failure:
    """Return whether a figure of the gate keeps the claimed bound.

    The largest error of an arm's outputs, over every element that was checked; or the share of
    products that it does, counted. No interval belongs to either.
    """
    case, claim, target, term = ask.case, ask.claim, ask.target, evaluation.term
    paths = (correctness_path(target, term.comparison),)
    record = case.evidence.correctness.get((target, term.comparison))
    if record is None:
        return replace(absent(case, target, term), evidence=paths)
    if failed := gate_correctness(case, record, term.arm, True):
        return replace(failed, evidence=paths)
    arm = next(arm for arm in record.arms if arm.arm == term.arm)
    if isinstance(evaluation, ways.Accuracy):
        found, explanation = _largest_error(ask, arm)
        most = claim.relation.two_sided or claim.relation is Relation.AT_MOST
    elif arm.true_product is None or not arm.true_product.true_products:
        text = f"The gate counted no products of {arm.variant} on {arm.workload}."
        return not_run(NotRun.NOT_RECORDED, text, paths)
    else:
        found, explanation = _share_of_products(claim, arm)
        most = claim.relation is Relation.AT_MOST
    claimed = claim.value or 0.0
    agrees = found <= claimed if most else found >= claimed
    return ask.verdict(
        Status.REPRODUCED if agrees else Status.NOT_REPRODUCED,
        explanation,
        measured=found,
        artifact=what_ran(case, target, [arm.variant]).artifact,
        gpu_uuid=record.gpu_uuid if case.evidence.platforms.get(target) else None,
        binary_sha256=arm.binary_sha256,
        ran=f"{arm.variant} on {arm.workload}",
        evidence=paths,
    )


def _largest_error(ask: Question, arm: ArmCorrectness) -> tuple[float, str]:
    errors = [
        check.max_abs_error
        for check in arm.checks
        if check.name in AT_THE_TIMED_SHAPE and check.max_abs_error is not None
    ]
    worst = max(errors)  # an arm that passed the gate has some
    return worst, (
        f"On {ask.case.catalog.targets[ask.target].product} no element of {arm.variant}'s output "
        f"on {arm.workload} is further from the oracle than {number(worst)}, in "
        f"{counted(len(errors), 'output')}; the source says {ask.claim.as_printed}."
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


def judge_execution(ask: Question, evaluation: ways.Execution) -> Verdict | Failure:
    """Return whether every arm runs and passes the gate; no time is looked at.

    An arm that refuses the problem on this GPU contradicts the claim; one that crashed, or is not
    installed, says nothing of it.
    """
    case, target = ask.case, ask.target
    paths = tuple(path for term in evaluation.terms for path in evidence_paths(case, target, term))
    arms = [_planned(case, term) for term in evaluation.terms]
    names = [f"{arm.variant} on {arm.workload}" for arm in arms]
    words, refused, gpu = [], False, None
    for term, name in zip(evaluation.terms, names, strict=True):
        record = case.evidence.correctness.get((target, term.comparison))
        if record is None:
            return replace(absent(case, target, term), evidence=paths)
        failed, gpu = gate_correctness(case, record, term.arm, True), record.gpu_uuid
        if failed is None:
            checks = sum(len(arm.checks) for arm in record.arms if arm.arm == term.arm)
            words.append(f"{name} passes {counted(checks, 'check')}")
        elif failed.reason == NotRun.NOT_IN_BUILD.value:
            refused = True
            words.append(failed.explanation.rstrip("."))
        else:
            return replace(failed, evidence=paths)
    return ask.verdict(
        Status.NOT_REPRODUCED if refused else Status.REPRODUCED,
        f"On {case.catalog.targets[target].product}: {'; '.join(words)}.",
        measured=REFUSES if refused else ways.RUNS,
        artifact=what_ran(case, target, [arm.variant for arm in arms]).artifact,
        gpu_uuid=gpu if case.evidence.platforms.get(target) else None,
        ran="; ".join(names),
        nearest=nearest(case, ask.claim),
        evidence=paths,
    )


def _planned(case: Case, term: Term) -> Arm:
    return next(a for a in case.catalog.comparisons[term.comparison].arms if a.id == term.arm)


def judge_self_check(ask: Question, evaluation: ways.Program) -> Verdict | Failure:
    """Return whether every run passed the program's own check; a run that failed it is incorrect,
    and one that nobody checked says nothing.
    """
    case, claim, target = ask.case, ask.claim, ask.target
    arguments = evaluation.stated.arguments
    runs = measure_program(case, target, evaluation.program, evaluation.figure, arguments, None)
    if isinstance(runs, Failure):
        return runs
    program = case.catalog.programs[evaluation.program]
    record = case.evidence.programs[target, job_id(program.id, arguments)]
    outputs = [parse(program.parser, run.stdout) for run in record.runs]
    passed, checked = verification(program, record, outputs, runs.figure)
    if not passed:
        return not_run(NotRun.RUN_FAILED, checked, runs.evidence)
    sentences = (
        checked or f"{program.title} passes its own check in {len(outputs)} runs.",
        program_version(case, target, claim, program.id),
        versions_words(case, target, claim),
    )
    return ask.verdict(
        Status.REPRODUCED,
        " ".join(filter(None, sentences)),
        measured=ways.PASSES,
        artifact="original",
        binary_sha256=runs.binary_sha256,
        gpu_uuid=runs.gpu_uuid,
        ran=runs.ran,
        evidence=runs.evidence,
    )
