"""Counts of verdicts: one function for the headline, README and the attestation. Pure.

What is counted is measurements, not rows: one measurement that answers a question seven times
counts once, by the worst of its verdicts, and so do the rows that one sentence makes. What a
project says without a document counts claim by claim, each by its own verdict. A claim counts
once: by its verdict on the hardware that it names; where it has none, a speed figure of a source
counts by what it would be on the GPU that it was measured on, apart from the others, and anything
else as measured elsewhere. Speed figures of the sources, ratios of two of them (which are no
measurements of their own), this project's own claims, statements without a speed and arithmetic
are counted apart.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.judging.needs import terms_of
from assay.records.claims import SPEED_UNITS, Claim, ClaimKind
from assay.records.evaluations import Arithmetic, Benchmark, Derived, Metric, Term
from assay.records.verdicts import Status, Verdict, Why

Tally = dict[Status, int]

RATIOS = frozenset({Metric.RATE_RATIO, Metric.TIME_RATIO})
COUNTED_APART = ("published", "elsewhere", "ratios", "own", "probes", "arithmetic", "assumed")
"""What is counted apart: published speed figures, those measured on other hardware alone (by what
they would be there), ratios of two published figures, what this project says of its own kernels,
statements without a speed, arithmetic of the sources, and relations that rest on an assumption."""


@dataclass(frozen=True)
class Outcome:
    """One thing that counts: a measurement or a sentence, by the worst verdict that it gives."""

    kind: str
    """One of ``COUNTED_APART``, or what a page calls it (``findings.headline``)."""
    lead: Verdict
    """The verdict that it counts by."""
    rows: tuple[Verdict, ...]
    """All verdicts that it gives, in their order."""

    @property
    def status(self) -> Status:
        """Return how it came out; of a figure measured elsewhere, what it would be there."""
        return outcome(self.lead)

    @property
    def why(self) -> Why | None:
        """Return the cause, where it does not plainly hold."""
        return self.lead.why

    @property
    def away(self) -> bool:
        """Return whether it was measured on another GPU than the source names, and only there."""
        return self.lead.status is Status.ELSEWHERE


def count_verdicts(catalog: Catalog, verdicts: Iterable[Verdict]) -> dict[str, Tally]:
    """Return how many of each kind came out how; statuses that nothing has are absent.

    Measured elsewhere is a status of its own, but of a kind that is all such.
    """
    once = counted_once(catalog, verdicts)
    numbers = Counter((each.kind, _counting(each.kind, each.lead)) for each in once)
    return {
        kind: {status: numbers[kind, status] for status in Status if numbers[kind, status]}
        for kind in COUNTED_APART
    }


def counted_once(catalog: Catalog, verdicts: Iterable[Verdict]) -> list[Outcome]:
    """Return what counts, each thing once: rows of the same samples that claim the same figure,
    or of the same sentence, are one, on however many GPUs.

    In the order of the first verdict of each.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Verdict]] = {}
    for row in one_a_claim(verdicts):
        groups.setdefault((kind_of(catalog, row), _members(catalog, row)), []).append(row)
    return [Outcome(kind, _worst(kind, rows), tuple(rows)) for (kind, _), rows in groups.items()]


def _worst(kind: str, rows: list[Verdict]) -> Verdict:
    return min(
        rows,
        key=lambda row: (_counting(kind, row).facts.severity, outcome(row).facts.severity),
    )


def _counting(kind: str, row: Verdict) -> Status:
    """Return the status that a verdict counts by."""
    return outcome(row) if kind == "elsewhere" else row.status


def outcome(verdict: Verdict) -> Status:
    """Return the status of a verdict or, of a figure measured elsewhere, what it would be there."""
    return verdict.as_if or verdict.status


def failing_strict(catalog: Catalog, verdicts: Iterable[Verdict]) -> int:
    """Return how many of those that were judged have a status that ``--strict`` refuses."""
    judged = (verdict for verdict in verdicts if verdict.status is not Status.ELSEWHERE)
    tallies = count_verdicts(catalog, judged).values()
    return sum(n for tally in tallies for status, n in tally.items() if status.facts.strict)


def rows_by_claim(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Return the verdicts of each claim, in their order."""
    by_claim: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_claim.setdefault(verdict.claim, []).append(verdict)
    return by_claim


def one_a_claim(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the rows that count: without those that a better row of the same claim stands for.

    On hardware that it names a claim has one verdict a target, and the worst of them counts.
    Without a figure there, its figures elsewhere count, on the first target that has one.
    """
    found: list[Verdict] = []
    for rows in rows_by_claim(verdicts).values():
        there = [row for row in rows if row.status not in (Status.ELSEWHERE, Status.NOT_RUN)]
        elsewhere = [row for row in rows if row.status is Status.ELSEWHERE]
        found += there or elsewhere[:1] or rows[:1]
    return found


def kind_of(catalog: Catalog, verdict: Verdict) -> str:
    """Return under which of ``COUNTED_APART`` a verdict counts."""
    claim = catalog.claims.get(verdict.claim)
    if claim is None:
        entry = catalog.audits.get(verdict.claim)
        return "assumed" if entry is not None and entry.assumes else "arithmetic"
    if isinstance(claim.evaluation, Arithmetic):
        return "arithmetic"
    stated = claim.kind is ClaimKind.STATEMENT or claim.evaluation.kind == "completeness"
    if stated or claim.unit not in SPEED_UNITS:
        return "probes"
    if catalog.sources[verdict.source].source.file is None:
        return "own"
    if verdict.status is Status.ELSEWHERE:
        return "elsewhere"
    return "ratios" if _relates_figures(catalog, claim) else "published"


def _relates_figures(catalog: Catalog, claim: Claim) -> bool:
    """Return whether a claim is a ratio of two figures that its source states, too: then its
    samples are counted with these. By what is measured, or shown beside such a figure, however the
    ratio is answered: a ratio of anything else is a figure of its own, "500 times faster than" a
    rival without a figure, say.
    """
    evaluation = claim.evaluation
    if isinstance(evaluation, Derived):
        return True
    if not isinstance(evaluation, Benchmark) or evaluation.metric not in RATIOS:
        return False
    stated = {
        side
        for other in catalog.sources[catalog.source_of[claim.id]].claims
        if isinstance(other.evaluation, Benchmark) and other.evaluation.metric not in RATIOS
        for term in terms_of(other.evaluation)
        for side in _sides(catalog, term)
    }
    return all(side in stated for term in evaluation.terms for side in _sides(catalog, term))


def _sides(catalog: Catalog, term: Term) -> list[tuple[str, str]]:
    """Return the kernels of a term, each with its problem."""
    arms = map(catalog.comparisons[term.comparison].arm, filter(None, (term.arm, term.over)))
    return [(arm.variant, arm.workload) for arm in arms]


def _members(catalog: Catalog, row: Verdict) -> tuple[str, ...]:
    """Return a name for all rows that count once with this one."""
    entry = catalog.claims.get(row.claim) or catalog.audits.get(row.claim)
    if entry is not None and entry.sentence is not None:
        return "sentence", row.source, entry.sentence
    if catalog.project is not None and kind_of(catalog, row) == "own":
        return (row.claim,)
    return tuple(sorted(_asking_alike(catalog, row)))


def _asking_alike(catalog: Catalog, row: Verdict) -> set[str]:
    """Return the claims of one measurement that ask what this one does: of one relation, dimension
    and, within the margin, figure. "10 times faster" and "500 times" are two questions.
    """
    own = _question(catalog, row.claim)
    asked = {name: _question(catalog, name) for name in (row.claim, *row.same_measurement)}
    margin = math.log1p(catalog.judging.absolute_margin)
    alike, waiting = {row.claim}, [own]
    while waiting:
        relation, base, figure = waiting.pop()
        for name, (other, unit, value) in asked.items():
            near = abs(value - figure) <= margin
            if name not in alike and (other, unit) == (relation, base) and near:
                alike.add(name)
                waiting.append(asked[name])
    return alike


def _question(catalog: Catalog, name: str) -> tuple[str, str, float]:
    """Return relation, dimension and logarithm of a claim's figure; none of what has no figure."""
    claim = catalog.claims.get(name)
    if claim is None or claim.unit is None or not claim.value or claim.value < 0:
        return "", "", 0.0
    unit = claim.unit.facts.base or claim.unit.value
    return claim.relation.value, unit, math.log(claim.value * claim.unit.facts.factor)
