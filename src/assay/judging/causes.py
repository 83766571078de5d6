"""What verdicts take from their claims and from each other: causes, other GPUs, shared samples."""

import re
from collections.abc import Iterable, Sequence

from assay.base.printable import first_named
from assay.judging.case import Case
from assay.judging.counts import outcome, rows_by_claim
from assay.judging.program import answering_figure
from assay.records.claims import Claim, Relation
from assay.records.evaluations import NotRun, Program
from assay.records.verdicts import Status, Verdict, Why

_BY_REASON: dict[str, Why] = {
    "other_shape": Why.OTHER_PROBLEM,
    NotRun.NO_DEVICE: Why.NO_DEVICE,
    NotRun.DRIVER_TOO_OLD: Why.NO_DEVICE,
    NotRun.NOT_SELECTED: Why.NO_DEVICE,
    NotRun.UNSUPPORTED_ARCH: Why.NOT_BUILT,
    NotRun.NOT_IN_BUILD: Why.NOT_IN_BUILD,
    NotRun.BUILD_FAILED: Why.NOT_BUILT,
    NotRun.NOT_IMPLEMENTED: Why.NOT_BUILT,
    NotRun.CONFIGURATION_MISSING: Why.UNSTATED,
    NotRun.ORIGINAL_UNAVAILABLE: Why.ORIGINAL_ABSENT,
    NotRun.NOT_INSTALLED: Why.NOT_BUILT,
    NotRun.RIVAL_MISSING: Why.ORIGINAL_ABSENT,
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


OF_OUTCOME = ("support", "runs", "device_code", "compiles", "completeness")
"""Kinds of evaluation that have an outcome, or a count, and no speed."""
HELD = (Status.REPRODUCED, Status.EXCEEDED, Status.CONSISTENT)
"""What plainly holds, and has no cause."""


def cause_of(verdict: Verdict, claim: Claim | None, own: bool) -> Why | None:
    """Return the cause of a verdict by what its own GPU showed; None where the claim holds.

    ``claim`` is None for an audit; ``own`` tells this project's own statements. A cause that was
    found while judging stands.
    """
    if verdict.why is not None or verdict.status in _BY_STATUS:
        return verdict.why or _BY_STATUS[verdict.status]
    if verdict.status is Status.NOT_RUN:
        return _BY_REASON.get(verdict.reason or "", Why.NOT_MEASURED)
    if claim is not None and claim.evaluation.kind in OF_OUTCOME:
        return Why.OTHER_OUTCOME
    if own:
        return Why.OWN_KERNEL_SLOWER
    if verdict.relation == Relation.SAME.value and verdict.artifact in ("original", "library"):
        return Why.NOT_ALIKE
    forecast = claim is not None and claim.kind.forecast
    return {
        "reimplemented": Why.FORECAST if forecast else Why.REBUILT,
        "original": Why.ORIGINAL_SLOWER,
        "library": Why.LIBRARY_SLOWER,
    }.get(verdict.artifact or "", Why.OTHER_OUTCOME)


def with_known_causes(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return verdicts with the cause that is known of each figure, wherever it was found, and the
    target whose verdict found it where that is another one's.

    Verdicts that have it come back as they are; those of rules before 5 say only what their own GPU
    showed.
    """
    every = tuple(verdicts)
    rows = rows_by_claim(every)
    return tuple(_with_known_cause(each, rows[each.claim]) for each in every)


def _with_known_cause(verdict: Verdict, rows: Sequence[Verdict]) -> Verdict:
    """Return one of the verdicts of a claim with the cause that another of them found.

    Found misstated on another GPU than its source names, because the author's program ran there or
    a declared reading holds, it has the cause of a kernel that was rebuilt, and of a ratio whose
    parts are missed, of which nothing more is known than that. What stood in the way on a GPU that
    there was is the cause of a figure without a GPU.
    """
    if outcome(verdict) in HELD:
        return verdict.model_copy(update={"why": None, "why_on": None})
    on = None
    if verdict.why in (Why.REBUILT, Why.PART_MISSED):
        on = next((row for row in rows if row.as_if is Status.MISSTATED and row.why), None)
    elif verdict.why is Why.NO_DEVICE:
        idle = (row for row in rows if row.status is Status.NOT_RUN)
        on = next((row for row in idle if row.why not in (None, Why.NO_DEVICE)), None)
    return verdict.model_copy(update={"why": on.why, "why_on": on.target}) if on else verdict


def as_elsewhere(claim: Claim, verdict: Verdict) -> Verdict:
    """Return the verdict; ``elsewhere`` where its figure is of hardware that the claim is not for.

    A claim that names no hardware is judged wherever it is measured. What could not be measured
    stays ``not_run``.
    """
    target, targets = verdict.target, claim.hardware.targets
    named = target in targets and not claim.hardware.stand_in
    if target is None or not targets or named or verdict.status is Status.NOT_RUN:
        return verdict
    return verdict.model_copy(update={"status": Status.ELSEWHERE, "as_if": verdict.status})


NAMED = 3
"""Other claims named in a sentence; the rest are counted."""


def say_what_is_shared(case: Case, verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Return each verdict with the other claims that rest on its measurement, named and said."""
    members: dict[object, list[str]] = {}
    keys = [_key(case, verdict) for verdict in verdicts]
    for key, verdict in zip(keys, verdicts, strict=True):
        members.setdefault(key, []).append(verdict.claim)
    return tuple(
        verdict if key is None else _with_others(verdict, members[key])
        for key, verdict in zip(keys, verdicts, strict=True)
    )


def _key(case: Case, verdict: Verdict) -> object:
    """Return what a figure was read off: target, problem that ran, record, line of a program's
    output.

    A claim that names no kernel and one that names the kernel it is answered by share that line.
    None where no interval was measured. Ratios of one arm to different baselines share some samples
    but not all: they are different measurements here.
    """
    if verdict.measured_on is None or verdict.ci90 is None or not verdict.evidence:
        return None
    evaluation = case.catalog.claims[verdict.claim].evaluation
    line = ""
    if isinstance(evaluation, Program) and verdict.target is not None:
        line = answering_figure(case, verdict.target, evaluation)
    # A printed time and the rate beside it are two ways to write one observation.
    line = re.sub(r"_?(ms|[gt]flop_per_s)$", "", line)
    return verdict.target, verdict.ran, verdict.evidence[0], line


def _with_others(verdict: Verdict, members: list[str]) -> Verdict:
    others = tuple(claim for claim in members if claim != verdict.claim)
    if not others:
        return verdict
    text = (
        f"{verdict.explanation} One measurement answers this claim and "
        f"{first_named(others, most=NAMED)}: "
        f"{len(others) + 1} verdicts, one observation."
    )
    return verdict.model_copy(update={"explanation": text, "same_measurement": others})
