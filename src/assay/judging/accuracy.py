"""Verdicts on how far an output may be off: what the gate found, at the shape that is timed."""

from assay.evidence.stages import correctness_path
from assay.judging.case import Case, Failure, measured_on, verdict
from assay.judging.gates import absent, gate_correctness
from assay.judging.what_ran import what_ran
from assay.records.claims import Claim, Relation
from assay.records.evaluations import Accuracy
from assay.records.figure_words import number
from assay.records.measurements import ArmCorrectness
from assay.records.plan import Answer
from assay.records.verdicts import Status, Verdict
from assay.shared.counting import counted

AT_THE_TIMED_SHAPE = ("timed_shape", "repeat")
"""Checks of outputs at the workload's own shape, with first and with new contents."""


def judge_accuracy(
    case: Case, answer: Answer, claim: Claim, evaluation: Accuracy, target: str
) -> Verdict | Failure:
    """Return whether the largest error of an arm keeps a claimed bound.

    The figure is a maximum over every element that was checked; no interval belongs to it.
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
    errors = _errors(arm)
    worst, claimed = max(errors), claim.value or 0.0
    agrees = worst >= claimed if claim.relation is Relation.AT_LEAST else worst <= claimed
    platform = case.evidence.platforms.get(target)
    return verdict(
        case,
        answer,
        Status.REPRODUCED if agrees else Status.NOT_REPRODUCED,
        f"On {case.catalog.targets[target].product} no element of {arm.variant}'s output on "
        f"{arm.workload} is further from the oracle than {number(worst)}, in "
        f"{counted(len(errors), 'output')}; the source says {claim.as_printed}.",
        claimed=claim.value,
        measured=worst,
        unit=claim.unit,
        artifact=what_ran(case, target, [arm.variant]).artifact,
        relation=claim.relation,
        gpu_uuid=record.gpu_uuid if platform else None,
        binary_sha256=arm.binary_sha256,
        on=measured_on(case, target, record.gpu_uuid),
        ran=f"{arm.variant} on {arm.workload}",
        evidence=paths,
    )


def _errors(arm: ArmCorrectness) -> list[float]:
    """Errors at the timed shape; an arm that passed the gate has some."""
    return [
        check.max_abs_error
        for check in arm.checks
        if check.name in AT_THE_TIMED_SHAPE and check.max_abs_error is not None
    ]
