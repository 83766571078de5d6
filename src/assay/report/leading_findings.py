"""The findings of a run: up to ten sentences made from what counts, most consequential first.

Published figures that came out alike for the same cause make one finding a source, told by the one
that is furthest off. No figure is part of two findings, and a finding's number is that of the lines
that its choice shows in the table of claims.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.findings.headline import ELSEWHERE, FIGURES, KINDS, Outcome, causes
from assay.judging.causes import HELD
from assay.judging.counts import outcome
from assay.judging.own_program import PRINTED
from assay.records.evaluations import Benchmark
from assay.records.readings import AS_TYPED
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict, Why
from assay.report import formatting as fmt
from assay.report.facets import choice_of
from assay.report.verdict_text import claimed_text, entry_of, is_rebuilt, ratio_of
from assay.shared.counting import agreeing, counted

MOST = 10
"""Findings of a run."""
MOST_WRONG = 3
"""Wrong outputs whose checks the finding on a project's own claims names."""
WEIGHTS = {
    Status.INCORRECT: 6.0,
    Status.MISSTATED: 5.0,
    Status.NOT_REPRODUCED: 3.0,
    Status.EXCEEDED: 2.0,
    Status.REPRODUCED: 1.5,
}
"""The consequence of an outcome; among equals of more figures, then of the further ones."""
REBUILT = 1.0
"""What a rebuild takes away: a kernel of ours that is slower says little of the original."""
PRINTED_WEIGHT = 5.9
"""That the author's own program prints a figure, of other work than it does."""
OTHERWISE: dict[Why | None, str] = {
    Why.OTHER_WORK: "counted otherwise",
    Why.OTHER_PROBLEM: "on another problem",
    Why.OTHER_WORDS: "read otherwise",
}
"""How the figure of a reading that holds was had, by the cause that it is."""
SAME = "=\N{NO-BREAK SPACE}"
"""The sign of what is said to be the same, which a sentence leaves out."""


@dataclass(frozen=True)
class LeadingFinding:
    """One sentence: what it counts first, then the claim that it names."""

    weight: float
    """Its consequence; the larger comes first."""
    number: str
    """What is counted, which begins the sentence."""
    show: str
    """The choice by which the table of claims shows as many."""
    before: str
    """The sentence from there up to the claim's title."""
    source: str | None = None
    """Whose figures are counted; None where no one source's are."""
    claim: str | None = None
    title: str = ""
    after: str = ""
    alone: bool = False
    """Whether the claim that it names is all that it counts."""

    @property
    def sentence(self) -> str:
        """Return it as plain text."""
        of = f" of source {self.source}" if self.source else ""
        return f"{self.number}{of}{self.before}{self.title}{self.after}"


def leading_findings(
    catalog: Catalog, verdicts: Sequence[Verdict], counted_things: Sequence[Outcome]
) -> tuple[LeadingFinding, ...]:
    """Return what the verdicts come to; none for what nobody has."""
    published = [each for each in counted_things if each.kind in (FIGURES, ELSEWHERE)]
    found = [
        *_of_groups(catalog, verdicts, published),
        *_own_kernels(catalog, [each for each in counted_things if each.kind == "own"]),
        *_relations(catalog, [each for each in counted_things if each.kind == "relations"]),
        *_not_run([each for each in published if each.status is Status.NOT_RUN]),
    ]
    return tuple(sorted(found, key=lambda finding: -finding.weight)[:MOST])


def factor_apart(verdict: Verdict) -> float:
    """Return by which factor claimed and measured figure differ, whichever is larger; 1 or more."""
    ratio = ratio_of(verdict)
    return 1.0 if ratio is None else math.exp(abs(math.log(ratio.value)))


def _of_groups(
    catalog: Catalog, verdicts: Sequence[Verdict], published: Sequence[Outcome]
) -> Iterator[LeadingFinding]:
    """Yield a finding for the figures of one source that came out alike for the same cause."""
    groups: dict[tuple[str, str, Status, Why | None], list[Outcome]] = {}
    for each in published:
        if each.status in WEIGHTS:
            key = each.kind, each.lead.source, each.status, each.why
            groups.setdefault(key, []).append(each)
    prints = {row.claim: row for row in verdicts if _printed(row) is not None}
    for (kind, source, status, why), members in groups.items():
        leads = [each.lead for each in members]
        shown = max(leads, key=lambda v: (v.claim in prints, factor_apart(v)))
        printed = prints.get(shown.claim) if status is not Status.REPRODUCED else None
        weight = WEIGHTS[status] - (REBUILT if why is Why.REBUILT else 0.0)
        weight += min(0.8, 0.05 * len(members)) + min(0.19, 0.05 * math.log(factor_apart(shown)))
        beside = _by_program(printed) if printed else _other_reading(shown)
        place = ""
        if len(members) > 1:
            furthest = factor_apart(shown) == max(map(factor_apart, leads))
            place = (
                ", furthest off" if furthest and status is not Status.REPRODUCED else ", for one"
            )
        cause = f" ({why.short}{'' if printed else _found_on(leads)})" if why else ""
        yield LeadingFinding(
            weight=PRINTED_WEIGHT if printed else weight,
            number=counted(len(members), "figure"),
            show=choice_of(kind=kind, source=source, status=status, why=why),
            source=source,
            before=f" {agreeing(len(members), 'is', 'are')} {status.word}{cause}: ",
            claim=shown.claim,
            title=catalog.claims[shown.claim].statement,
            after=f"{place}, {_figures(catalog, shown)}{beside}.",
            alone=len(members) == 1,
        )


def _found_on(leads: Sequence[Verdict]) -> str:
    """Return on which GPUs the cause was found, of how many figures; empty where each verdict that
    counts found it itself.
    """
    there = [lead.why_on for lead in leads if lead.why_on is not None]
    if not there:
        return ""
    which = f" for {len(there)}" if len(there) < len(leads) else ""
    return f", found{which} on {' and '.join(dict.fromkeys(there))}"


def _figures(catalog: Catalog, verdict: Verdict) -> str:
    """Return what was claimed and what was measured, as a sentence goes on from a claim's title."""
    told_claim = f"claimed {fmt.unbroken(claimed_text(catalog, verdict)).lstrip(SAME)}"
    if verdict.measured is None:
        return told_claim
    what = "a rebuild gives" if is_rebuilt(catalog, verdict) else "measured"
    measured = fmt.figure(verdict.measured, verdict.unit, verdict.claimed)
    evaluation = catalog.claims[verdict.claim].evaluation
    shapes = len(evaluation.terms) if isinstance(evaluation, Benchmark) else 1
    worst = f" in the worst of {shapes} shapes" if shapes > 1 else ""
    return f"{told_claim}, {what} {measured}{worst}{_on(verdict)}"


def _on(verdict: Verdict) -> str:
    """Return on which GPU, by the name that the table of claims has for it."""
    return f" on {verdict.target}" if verdict.target else ""


def _other_reading(verdict: Verdict) -> str:
    held = (r for r in verdict.readings if r.holds and not r.primary and r.measured is not None)
    first = next(held, None)
    if first is None or Status.MISSTATED not in (verdict.status, verdict.as_if):
        return ""
    how = OTHERWISE.get(verdict.why, "by another reading")
    how = "by the command as typed" if first.id == AS_TYPED else how
    return f", or {fmt.figure(first.measured, verdict.unit, verdict.claimed)} {how}"


def _by_program(row: Verdict) -> str:
    printed = fmt.figure(_printed(row), row.unit, row.claimed)
    return f"; the original prints {printed}{_on(row)}"


def _printed(verdict: Verdict) -> float | None:
    """Return what the source's own program printed, where the claimed figure is that."""
    held = (each for each in verdict.readings if each.id == PRINTED and each.holds)
    return next((each.measured for each in held), None)


def _own_kernels(catalog: Catalog, own: Sequence[Outcome]) -> Iterator[LeadingFinding]:
    if not own:
        return
    measured = [each.lead for each in own if isinstance(each.lead.measured, float)]
    ratios = [row for row in measured if row.unit == Unit.RATIO.value]
    missed = [row for row in measured if outcome(row) not in HELD]
    best = max(ratios, key=lambda row: float(row.measured or 0), default=None)
    shown = max(missed, key=factor_apart, default=best)
    which = "furthest off" if missed else "the best ratio"
    held = sum(each.status in HELD for each in own)
    wrong = [each.lead for each in own if each.status is Status.INCORRECT]
    incorrect = f", {len(wrong)} incorrect" if wrong else ""
    after = f", {which}, {_figures(catalog, shown)}." if shown else "."
    for row in wrong[:MOST_WRONG]:
        after += f" {row.explanation.partition(';')[0].rstrip('.')}."
    whose = "" if catalog.project else " on its own kernels"
    yield LeadingFinding(
        weight=1.0,
        number=f"{counted(len(own), 'claim')} of this project{whose}",
        show=choice_of(kind="own"),
        before=f", {held} {agreeing(held, 'holds', 'hold')}{incorrect}{': ' if shown else ''}",
        claim=shown.claim if shown else None,
        title=catalog.claims[shown.claim].statement if shown else "",
        after=after,
    )


def _relations(catalog: Catalog, relations: Sequence[Outcome]) -> Iterator[LeadingFinding]:
    wrong = [each.lead for each in relations if each.status is Status.INCONSISTENT]
    if not wrong:
        return
    leading = (lead for lead in wrong if lead.claim in catalog.audits)
    first = next((lead for lead in leading if catalog.audits[lead.claim].leads), wrong[0])
    yield LeadingFinding(
        weight=2.6,
        number=f"{len(wrong)} of {counted(len(relations), *KINDS['relations'])}",
        show=choice_of(kind="relations", status=Status.INCONSISTENT),
        before=f" {agreeing(len(wrong), 'does', 'do')} not hold by the sources' own digits, "
        f"first of source {first.source}: ",
        claim=first.claim,
        title=entry_of(catalog, first).statement,
        after=".",
        alone=len(wrong) == 1,
    )


def _not_run(idle: Sequence[Outcome]) -> Iterator[LeadingFinding]:
    if not idle:
        return
    parts = ", ".join(f"{why.short} ({count})" for why, count in causes(idle).items())
    yield LeadingFinding(
        weight=0.5,
        number=counted(len(idle), "published figure"),
        show=choice_of(kind=FIGURES, status=Status.NOT_RUN),
        before=f" {agreeing(len(idle), 'was', 'were')} not run{': ' if parts else ''}{parts}.",
    )
