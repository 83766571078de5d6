"""Verdicts on the share of its products that a program does, as the gate counted them."""

from assay.evidence.stages import correctness_path
from assay.judging.case import Case, Failure, measured_on, not_run, significant, verdict
from assay.judging.gates import absent, gate_correctness
from assay.judging.what_ran import what_ran
from assay.records.claims import Claim, Relation
from assay.records.evaluations import Completeness, NotRun
from assay.records.figure_words import number
from assay.records.plan import Answer
from assay.records.verdicts import Status, Verdict


def judge_completeness(
    case: Case, answer: Answer, claim: Claim, evaluation: Completeness, target: str
) -> Verdict | Failure:
    """Return whether an arm does the claimed share of its products; they are counted, and no
    interval belongs to them.
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
    found = arm.true_product
    if found is None or not found.true_products:
        text = f"The gate counted no products of {arm.variant} on {arm.workload}."
        return not_run(NotRun.NOT_RECORDED, text, paths)
    share, claimed = significant(100 * (1 - found.missed)), claim.value or 0.0
    agrees = share <= claimed if claim.relation is Relation.AT_MOST else share >= claimed
    error = found.relative_error
    off = "" if error is None else f" Its output is off by {number(error)} of the right one's norm."
    platform = case.evidence.platforms.get(target)
    return verdict(
        case,
        answer,
        Status.REPRODUCED if agrees else Status.NOT_REPRODUCED,
        f"{arm.variant} on {arm.workload} does {found.products} of the {found.true_products} "
        f"products of stored blocks that meet, {number(share)} %.{off}"
        f"{f' {claim.note}' if claim.note else ''}",
        claimed=claim.value,
        measured=share,
        unit=claim.unit,
        artifact=what_ran(case, target, [arm.variant]).artifact,
        relation=claim.relation,
        gpu_uuid=record.gpu_uuid if platform else None,
        binary_sha256=arm.binary_sha256,
        on=measured_on(case, target, record.gpu_uuid),
        ran=f"{arm.variant} on {arm.workload}",
        evidence=paths,
    )
