"""Verdicts on what the gate found itself: how far an output is off, how many products are done."""

from assay.evidence.stages import correctness_path
from assay.judging.case import Case, Failure, measured_on, not_run, significant, verdict
from assay.judging.gates import absent, gate_correctness
from assay.judging.what_ran import what_ran
from assay.records.claims import Claim, Relation
from assay.records.evaluations import Accuracy, Completeness, NotRun
from assay.records.figure_words import number
from assay.records.measurements import ArmCorrectness
from assay.records.plan import Answer
from assay.records.verdicts import Status, Verdict
from assay.shared.counting import counted

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
        return absent(case, target, case.catalog.comparisons[term.comparison], term, paths)
    failure = gate_correctness(case, record, term.arm, True, paths)
    if failure is not None:
        return failure
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
        claimed=claim.value,
        measured=found,
        unit=claim.unit,
        artifact=what_ran(case, target, [arm.variant]).artifact,
        relation=claim.relation,
        gpu_uuid=record.gpu_uuid if case.evidence.platforms.get(target) else None,
        binary_sha256=arm.binary_sha256,
        on=measured_on(case, target, record.gpu_uuid),
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
