"""Verdicts that rest on the very same samples: one observation, however many claims it answers."""

import re
from collections.abc import Mapping

from assay.records.claims import Claim
from assay.records.evaluations import Program
from assay.records.verdicts import Verdict

NAMED = 3
"""Other claims named in a sentence; the rest are counted."""

FamilyKey = tuple[str | None, str | None, str, str]


def say_what_is_shared(
    verdicts: tuple[Verdict, ...], claims: Mapping[str, Claim]
) -> tuple[Verdict, ...]:
    """Each verdict with the other claims that rest on its measurement, named and said."""
    members: dict[FamilyKey, list[str]] = {}
    keys = [_key(verdict, claims) for verdict in verdicts]
    for key, verdict in zip(keys, verdicts, strict=True):
        if key is not None:
            members.setdefault(key, []).append(verdict.claim)
    return tuple(
        verdict if key is None else _with_others(verdict, members[key])
        for key, verdict in zip(keys, verdicts, strict=True)
    )


def _key(verdict: Verdict, claims: Mapping[str, Claim]) -> FamilyKey | None:
    """Return what a figure was read off: target, problem that ran, record, line of a program's
    output.

    None where no interval was measured. Ratios of one arm to different baselines share some samples
    but not all: they are different measurements here.
    """
    if verdict.measured_on is None or verdict.ci90 is None or not verdict.evidence:
        return None
    evaluation = claims[verdict.claim].evaluation
    line = evaluation.figure if isinstance(evaluation, Program) else ""
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
