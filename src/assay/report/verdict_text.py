"""A verdict in short: the figures and how they stand, as words and as a ratio."""

from collections.abc import Sequence
from typing import NamedTuple

from assay.catalog.model import Catalog
from assay.findings.report_comparison import linear
from assay.findings.report_figures import claimed_figure
from assay.judging.counts import one_a_claim, outcome
from assay.records.claims import TIME_UNITS, Audit, Claim, ClaimKind, Relation
from assay.records.evaluations import PRINTED, Derived, Program
from assay.records.units import LESS, PRECISE, short
from assay.records.verdicts import Status, Verdict
from assay.report import formatting as fmt
from assay.report.figures.svg import Mark, verdict_mark


class Ratio(NamedTuple):
    """One figure over its claim; of times, claimed over measured."""

    value: float
    low: float
    high: float


def ratio_of(verdict: Verdict) -> Ratio | None:
    """Return how a measured figure stands to the claimed one; None where it has no interval."""
    claimed, measured, ci = verdict.claimed, verdict.measured, verdict.ci90
    if not isinstance(claimed, float) or not isinstance(measured, float) or ci is None:
        return None
    whole, value, low, high = (linear(v, verdict.unit) for v in (claimed, measured, *ci))
    if min(whole, value, low, high) <= 0:
        return None
    if verdict.unit in LESS:
        return Ratio(whole / value, whole / high, whole / low)
    return Ratio(value / whole, low / whole, high / whole)


def toward_better(catalog: Catalog, verdict: Verdict) -> Ratio | None:
    """Return a figure's ratio so that more is better by what its claim says; None as ``ratio_of``.

    That is claimed over measured where less is better: of times, of a figure that is at most so
    much, and of a rival's lead. A range is the end that is nearer: what exceeds it, its upper one.
    """
    ratio = ratio_of(_beyond_its_range(catalog, verdict))
    if ratio is None or verdict.unit in LESS:
        return ratio
    at_most = verdict.relation == Relation.AT_MOST.value
    if not at_most and not _is_a_rivals_lead(catalog, verdict.claim):
        return ratio
    return Ratio(1 / ratio.value, 1 / ratio.high, 1 / ratio.low)


def _beyond_its_range(catalog: Catalog, verdict: Verdict) -> Verdict:
    """Return a verdict on the upper end of a range that is exceeded, any other as it is."""
    claim = catalog.claims.get(verdict.claim)
    if claim is None or claim.to is None or outcome(verdict) is not Status.EXCEEDED:
        return verdict
    assert claim.value is not None and isinstance(verdict.claimed, float)  # as every range has
    return verdict.model_copy(update={"claimed": verdict.claimed * claim.to / claim.value})


def has_no_better_side(verdict: Verdict) -> bool:
    """Return whether a claim says that two things are alike: more is above, and not ahead."""
    return verdict.relation == Relation.SAME.value


def _is_a_rivals_lead(catalog: Catalog, name: str) -> bool:
    """Return whether a claim is a comparator's, or a program's, lead over the source's subject."""
    claim = catalog.claims.get(name)
    if claim is None or not isinstance(claim.evaluation, Derived):
        return False
    sides = claim.evaluation.numerator, claim.evaluation.denominator
    above, below = (catalog.claims[side] for side in sides)
    rivals = [side.kind is ClaimKind.COMPARATOR for side in (above, below)]
    if not any(rivals):
        rivals = [isinstance(side.evaluation, Program) for side in (above, below)]
    leads = (False, True) if above.unit in TIME_UNITS else (True, False)
    return tuple(rivals) == leads


class VerdictText(NamedTuple):
    """A verdict in short: the figures and how they stand."""

    target: str
    gpu: str
    """Product that it was measured on; empty where nothing was."""
    measured: str
    rebuilt: bool
    """Whether that is of what was rebuilt here, and not of the author's program."""
    printed: str | None
    """What the author's program gives, with its interval, where that is a reading beside it."""
    interval: str | None
    factor: str | None
    """Measured over claimed, and claimed over measured where less is better, in words; None where
    there is no ratio. Of what is said to be the same, with the side on which it lies."""
    status: Status
    """Of a figure measured elsewhere, what it would be on the GPU named."""
    mark: Mark
    instead_of: str | None
    """Of a figure measured elsewhere: the targets that its source names, in short."""
    named: str | None
    """The same GPU in the source's own words."""
    reason: str | None
    """Code of the reason, where it says more than the cause."""


def lead_of(rows: Sequence[Verdict]) -> Verdict:
    """Return the verdict that a claim's line shows, which is the one that it counts by.

    That is the worst on hardware that the source names, else the first that was measured
    elsewhere, else the first.
    """
    return min(one_a_claim(rows), key=lambda row: row.status.facts.severity)


def entry_of(catalog: Catalog, verdict: Verdict) -> Claim | Audit:
    """Return the claim or audit that a verdict is on."""
    return catalog.claims.get(verdict.claim) or catalog.audits[verdict.claim]


def claimed_text(catalog: Catalog, verdict: Verdict) -> str:
    """Return the claimed figure with as many digits as its source prints."""
    stated = verdict.claimed, verdict.unit, verdict.relation
    entry = entry_of(catalog, verdict)
    return claimed_figure(*stated, entry, catalog.claims, fmt.with_unit) or fmt.NOTHING


def verdict_text(catalog: Catalog, verdict: Verdict) -> VerdictText:
    """Return a verdict in short."""
    target = catalog.targets.get(verdict.target or "")
    measured = verdict.measured_on is not None and verdict.measured is not None
    says_more = verdict.reason and verdict.reason != verdict.why
    claim = catalog.claims.get(verdict.claim)
    hardware = claim.hardware if claim and verdict.status is Status.ELSEWHERE else None
    instead_of = None
    if hardware:
        spelt = "/".join(hardware.targets) or None
        instead_of = hardware.as_stated if hardware.stand_in else spelt
    shown, printed = _shown(verdict), by_program(verdict)
    published = catalog.sources[verdict.source].source.file is not None
    return VerdictText(
        target=verdict.target or "",
        gpu=target.product if target and measured else "",
        measured=shown,
        rebuilt=verdict.artifact == "reimplemented" and bool(verdict.ci90) and published,
        printed=fmt.with_interval(printed.measured, printed.unit, printed.ci90, printed.claimed)
        if printed
        else None,
        interval=fmt.interval_of(verdict.measured, verdict.unit, verdict.ci90, verdict.claimed),
        factor=_factor(catalog, verdict),
        status=outcome(verdict),
        mark=verdict_mark(verdict),
        instead_of=instead_of,
        named=(hardware and hardware.as_stated) or instead_of,
        reason=fmt.words(verdict.reason) if verdict.reason and says_more else None,
    )


def by_program(verdict: Verdict) -> Verdict | None:
    """Return a verdict with the figure that the author's program gives in place of its own; None
    where that is no reading beside it.
    """
    found = next((each for each in verdict.readings if each.id == PRINTED), None)
    if found is None or found.measured is None:
        return None
    return verdict.model_copy(update={"measured": found.measured, "ci90": found.ci90})


def _shown(verdict: Verdict) -> str:
    """Return a verdict's figure; what printed figures give has the digits of its sentence."""
    if verdict.artifact == "arithmetic" and isinstance(verdict.measured, float):
        return fmt.with_unit(short(verdict.measured, PRECISE), verdict.unit)
    return fmt.figure(verdict.measured, verdict.unit, verdict.claimed)


def _factor(catalog: Catalog, verdict: Verdict) -> str | None:
    """Return how far a figure is from its claim; None where nobody knows."""
    ratio = toward_better(catalog, verdict)
    if ratio is None:
        return None
    factor = fmt.factor(ratio.value)
    if has_no_better_side(verdict) and ratio.value != 1:
        return f"{factor} {'above' if ratio.value > 1 else 'below'}"
    return factor
