"""Figures measured on another GPU than the claim names: shown, with what they would be there."""

from assay.judging.case import Case
from assay.records.claims import Claim
from assay.records.verdicts import Status, Verdict


def as_elsewhere(case: Case, claim: Claim, verdict: Verdict) -> Verdict:
    """Return the verdict; ``elsewhere`` where its figure is of hardware that the claim is not for.

    A claim that names no hardware is judged wherever it is measured. What could not be measured
    stays ``not_run``.
    """
    target = verdict.target
    if target is None or not claim.hardware.targets or target in claim.hardware.targets:
        return verdict
    if verdict.status is Status.NOT_RUN:
        return verdict
    here = case.catalog.targets[target].product
    named = claim.hardware.as_stated or case.catalog.targets[claim.hardware.targets[0]].product
    text = (
        f"Measured on {here}; the claim is for {named}, so this is shown and not judged. Were it "
        f"that hardware, it would be {verdict.status.word}. {verdict.explanation}"
    )
    return verdict.model_copy(
        update={"status": Status.ELSEWHERE, "as_if": verdict.status, "explanation": text}
    )
