"""Verdicts that rest on the very same samples: one observation, however many claims it answers."""

import re

from assay.judging.case import Case
from assay.judging.program import answering_figure
from assay.records.evaluations import Program
from assay.records.verdicts import Verdict

NAMED = 3
"""Other claims named in a sentence; the rest are counted."""

FamilyKey = tuple[str | None, str | None, str, str]


def say_what_is_shared(case: Case, verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Return each verdict with the other claims that rest on its measurement, named and said."""
    members: dict[FamilyKey, list[str]] = {}
    keys = [_key(case, verdict) for verdict in verdicts]
    for key, verdict in zip(keys, verdicts, strict=True):
        if key is not None:
            members.setdefault(key, []).append(verdict.claim)
    return tuple(
        verdict if key is None else _with_others(verdict, members[key])
        for key, verdict in zip(keys, verdicts, strict=True)
    )


def _key(case: Case, verdict: Verdict) -> FamilyKey | None:
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
    named = ", ".join(others[:NAMED])
    more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
    text = (
        f"{verdict.explanation} One measurement answers this claim and {named}{more}: "
        f"{len(others) + 1} verdicts, one observation."
    )
    return verdict.model_copy(update={"explanation": text, "same_measurement": others})
