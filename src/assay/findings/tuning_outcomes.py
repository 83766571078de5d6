"""Chosen configurations held against their sweeps: is each the fastest, by how much? Pure.

The sweep is a comparison like any other: its arms pass the judge's gates, and ratios are paired
within blocks. A choice holds when no rival is faster beyond the margin that
``config/judging.yaml`` declares for ratios.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from assay.judging.benchmark import measure_term
from assay.judging.case import Case, Failure, Measured
from assay.judging.decision import gate, noisy
from assay.records.evaluations import Metric, Term
from assay.records.rivals import TuningChoice
from assay.records.units import number
from assay.statistics.summaries import Summary


class ChoiceStanding(StrEnum):
    """The standing of a choice in its sweep."""

    CONFIRMED = "confirmed"
    ANOTHER_IS_FASTER = "another_is_faster"
    CANNOT_TELL = "cannot_tell"
    NOT_MEASURED = "not_measured"


@dataclass(frozen=True)
class SweepOutcome:
    """The outcome of a sweep for one choice."""

    choice: TuningChoice
    standing: ChoiceStanding
    rival: str | None
    """Arm that the choice is held against: the rival that the standing rests on."""
    rival_variant: str | None
    ratio: Summary | None
    """Speed of the chosen configuration over the rival's; above 1 the chosen one is faster."""
    note: str
    """Why nobody can tell, or what has no result; empty where all is plain."""

    @property
    def says(self) -> str:
        """Return how fast the chosen configuration is beside its rival, and the note."""
        if self.ratio is None:
            return self.note
        low, high = map(number, self.ratio.interval())
        figure = f"{number(self.ratio.value())} times as fast as {self.rival} [{low}, {high}]"
        return "; ".join(filter(None, (figure, self.note)))


def outcomes(case: Case) -> tuple[SweepOutcome, ...]:
    """Return what the evidence says of each choice whose sweep it holds, in catalog order."""
    return tuple(
        _outcome(case, choice)
        for choice in case.catalog.tuning.choices
        if (choice.target, choice.evidence.comparison) in case.evidence.benchmarks
    )


def _outcome(case: Case, choice: TuningChoice) -> SweepOutcome:
    target, name = choice.target, choice.evidence.comparison
    own_term = Term(comparison=name, arm=choice.evidence.arm)
    own = measure_term(case, target, Metric.TIME, own_term, None)
    if isinstance(own, Failure):
        return unmeasured(choice, own.explanation)
    if own.broken is not None:
        return unmeasured(choice, f"{own.broken}.")
    ratios: dict[str, Measured] = {}
    lacking: list[str] = []
    arms = {arm.id: arm for arm in case.catalog.comparisons[name].arms}
    chosen, arch = arms[choice.evidence.arm], case.catalog.targets[target].arch
    rivals = {  # other kernels that ran the same problem and could have been chosen
        arm.id: arm.variant
        for arm in arms.values()
        if (arm.workload == chosen.workload and arm.variant != chosen.variant)
        and arch in case.catalog.variants[arm.variant].archs
    }
    for rival in rivals:
        term = Term(comparison=name, arm=choice.evidence.arm, over=rival)
        found = measure_term(case, target, Metric.TIME_RATIO, term, None)
        if isinstance(found, Measured) and found.broken is None:
            ratios[rival] = found
        else:
            lacking.append(rival)
    if not ratios:
        return unmeasured(choice, "No rival of it has a result.")
    margin = case.catalog.judging.ratio_margin
    summaries = {rival: measured.summary for rival, measured in ratios.items()}
    kept = gate(own) or noisy(own, margin, case.catalog.judging)
    objection = kept and kept.clause
    standing, rival = decide(summaries, margin)
    # What passed the gate, so that only its time is missing, may be the fastest.
    gated = case.evidence.correctness[target, name].arms
    untimed = [a for a in lacking if any(g.arm == a and g.status == "correct" for g in gated)]
    if objection is None and standing is ChoiceStanding.CONFIRMED and untimed:
        objection = f"{', '.join(untimed)} gave the right output and has no usable time"
    if objection is not None:
        standing = ChoiceStanding.CANNOT_TELL
    notes = [objection] if objection else []
    notes += [f"without a result: {', '.join(lacking)}"] if lacking else []
    held = rival, rivals[rival], summaries[rival]
    return SweepOutcome(choice, standing, *held, note="; ".join(notes))


def unmeasured(choice: TuningChoice, why: str) -> SweepOutcome:
    """Return the outcome of a choice without a result, and why it has none."""
    return SweepOutcome(choice, ChoiceStanding.NOT_MEASURED, None, None, None, why)


def decide(ratios: Mapping[str, Summary], margin: float) -> tuple[ChoiceStanding, str]:
    """The standing, and the rival it rests on; ``ratios``: speed of the chosen over each rival's.

    Another is faster when the whole interval of some ratio lies below 1 / (1 + margin); the choice
    is confirmed when no interval reaches below that; else nobody can tell. Confirmation asks every
    interval, so more rivals make it no easier. ``ratios`` must not be empty.
    """
    edge = -math.log1p(margin)
    beaten = {rival: ratio for rival, ratio in ratios.items() if ratio.high < edge}
    if beaten:
        fastest = min(beaten, key=lambda rival: beaten[rival].estimate)
        return ChoiceStanding.ANOTHER_IS_FASTER, fastest
    closest = min(ratios, key=lambda rival: ratios[rival].low)
    if ratios[closest].low < edge:
        return ChoiceStanding.CANNOT_TELL, closest
    return ChoiceStanding.CONFIRMED, min(ratios, key=lambda rival: ratios[rival].estimate)
