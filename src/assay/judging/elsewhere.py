"""Figures measured on another GPU than the claim names: shown, with what they would be there.

The verdict says so by its fields (target, ``measured_on``, ``as_if``). Its explanation is that of
the measurement: a report says once which GPU stood in for which.
"""

from assay.records.claims import Claim
from assay.records.verdicts import Status, Verdict


def as_elsewhere(claim: Claim, verdict: Verdict) -> Verdict:
    """Return the verdict; ``elsewhere`` where its figure is of hardware that the claim is not for.

    A claim that names no hardware is judged wherever it is measured. What could not be measured
    stays ``not_run``.
    """
    target = verdict.target
    named = target in claim.hardware.targets and not claim.hardware.stand_in
    if target is None or not claim.hardware.targets or named:
        return verdict
    if verdict.status is Status.NOT_RUN:
        return verdict
    return verdict.model_copy(update={"status": Status.ELSEWHERE, "as_if": verdict.status})
