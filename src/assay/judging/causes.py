"""Causes: the code beside a status that says why a claim does not plainly hold."""

from collections.abc import Iterable

from assay.judging.counts import outcome
from assay.records.claims import Claim, Relation
from assay.records.evaluations import Compiles, DeviceCode, Execution, NotRun, Support
from assay.records.verdicts import Status, Verdict, Why

NOT_RUN_CAUSES: dict[NotRun, Why] = {
    NotRun.NO_DEVICE: Why.NO_DEVICE,
    NotRun.DRIVER_TOO_OLD: Why.NO_DEVICE,
    NotRun.NOT_SELECTED: Why.NO_DEVICE,
    NotRun.UNSUPPORTED_ARCH: Why.NOT_BUILT,
    NotRun.BUILD_FAILED: Why.NOT_BUILT,
    NotRun.NOT_IMPLEMENTED: Why.NOT_BUILT,
    NotRun.CONFIGURATION_MISSING: Why.UNSTATED,
    NotRun.ORIGINAL_UNAVAILABLE: Why.ORIGINAL_ABSENT,
    NotRun.NOT_INSTALLED: Why.ORIGINAL_ABSENT,
    NotRun.RIVAL_MISSING: Why.ORIGINAL_ABSENT,
    NotRun.RUN_FAILED: Why.NOT_MEASURED,
    NotRun.NOT_RECORDED: Why.NOT_MEASURED,
}
"""Every reason for which a claim has no measured answer."""

_BY_REASON: dict[str, Why] = {
    "other_shape": Why.OTHER_PROBLEM,
    **{reason.value: why for reason, why in NOT_RUN_CAUSES.items()},
}
"""Causes of what was not run, by a verdict's reason; of any other it was not measured."""

_BY_STATUS: dict[Status, Why | None] = {
    Status.REPRODUCED: None,
    Status.EXCEEDED: None,
    Status.CONSISTENT: None,
    Status.INCONSISTENT: Why.OWN_FIGURES,
    Status.INCORRECT: Why.WRONG_OUTPUT,
    Status.INCONCLUSIVE: Why.TOO_UNCERTAIN,
}


HELD = (Status.REPRODUCED, Status.EXCEEDED, Status.CONSISTENT)
"""What plainly holds, and has no cause."""


def cause_of(verdict: Verdict, claim: Claim | None, own: bool) -> Why | None:
    """Return the cause of a verdict; None where the claim holds.

    ``claim`` is None for an audit; ``own`` tells this project's own statements. A cause that was
    found while judging stands.
    """
    if verdict.why is not None or verdict.status in _BY_STATUS:
        return verdict.why or _BY_STATUS[verdict.status]
    if verdict.status is Status.NOT_RUN:
        return _BY_REASON.get(verdict.reason or "", Why.NOT_MEASURED)
    of_outcome = Support | Execution | DeviceCode | Compiles
    if claim is not None and isinstance(claim.evaluation, of_outcome):
        return Why.OTHER_OUTCOME
    if own:
        return Why.OWN_KERNEL_SLOWER
    if verdict.relation == Relation.SAME.value and verdict.artifact == "original":
        return Why.NOT_ALIKE
    return {
        "reimplemented": Why.REBUILT,
        "original": Why.ORIGINAL_SLOWER,
    }.get(verdict.artifact or "", Why.OTHER_OUTCOME)


def known_cause(verdict: Verdict, rows: Iterable[Verdict]) -> Why | None:
    """Return why a verdict does not plainly hold; None where it does.

    Of a kernel that was rebuilt nothing more is known than that. Where the same claim, one of
    ``rows``, was found misstated on another GPU, because the author's program ran there or a
    declared reading holds, the cause that was found there is the cause. Of a figure without a GPU
    the cause is what stood in its way on the GPU that there was, where that was tried.
    """
    if outcome(verdict) in HELD:
        return None
    if verdict.why is Why.REBUILT:
        found = (row.why for row in rows if row.as_if is Status.MISSTATED and row.why)
    elif verdict.why is Why.NO_DEVICE:
        idle = (row for row in rows if row.status is Status.NOT_RUN and row is not verdict)
        found = (row.why for row in idle if row.why not in (None, Why.NO_DEVICE))
    else:
        return verdict.why
    return next(found, verdict.why)
