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
from assay.report.ratios import ratio_of
from assay.report.verdict_text import claimed_text, entry_of, is_rebuilt
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
LESS = {Why.REBUILT: 1.0}
"""What a cause takes away: a kernel of ours that is slower says little of the original."""
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

    number: str
    """What is counted, which begins the sentence."""
    show: str
    """The choice by which the table of claims shows as many."""
    source: str | None
    """Whose figures are counted; None where no one source's are."""
    before: str
    """The sentence from there up to the claim's title."""
    claim: str | None
    title: str
    after: str
    alone: bool = False
    """Whether the claim that it names is all that it counts."""

    @property
    def sentence(self) -> str:
        """Return it as plain text."""
        of = f" of source {self.source}" if self.source else ""
        return f"{self.number}{of}{self.before}{self.title}{self.after}"


Ranked = tuple[float, LeadingFinding]
"""A finding and its consequence; the larger comes first."""


def leading_findings(
    catalog: Catalog, verdicts: Sequence[Verdict], counted_things: Sequence[Outcome]
) -> tuple[LeadingFinding, ...]:
    """Return what the verdicts come to; none for what nobody has."""
    published = [each for each in counted_things if each.kind in (FIGURES, ELSEWHERE)]
    found = [
        *_of_groups(catalog, verdicts, published),
        *_own_kernels(catalog, [each for each in counted_things if each.kind == "own"]),
        *_relations(catalog, [each for each in counted_things if each.kind == "relations"]),
        *_not_run(published),
    ]
    found.sort(key=lambda entry: -entry[0])
    return tuple(finding for _, finding in found[:MOST])


def factor_apart(verdict: Verdict) -> float:
    """Return by which factor claimed and measured figure differ, whichever is larger; 1 or more."""
    ratio = ratio_of(verdict)
    return 1.0 if ratio is None else math.exp(abs(math.log(ratio.value)))


@dataclass(frozen=True)
class _Group:
    """Published figures of one source that came out alike for the same cause."""

    kind: str
    source: str
    status: Status
    why: Why | None
    members: tuple[Outcome, ...]


def _of_groups(
    catalog: Catalog, verdicts: Sequence[Verdict], published: Sequence[Outcome]
) -> Iterator[Ranked]:
    groups: dict[tuple[str, str, Status, Why | None], list[Outcome]] = {}
    for each in published:
        if each.status in WEIGHTS:
            key = each.kind, each.lead.source, each.status, each.why
            groups.setdefault(key, []).append(each)
    prints = {row.claim: row for row in verdicts if _printed(row) is not None}
    for (kind, source, status, why), members in groups.items():
        furthest = max(
            (each.lead for each in members), key=lambda v: (v.claim in prints, factor_apart(v))
        )
        printed = prints.get(furthest.claim) if status is not Status.REPRODUCED else None
        most = math.log(factor_apart(furthest))
        weight = WEIGHTS[status] - (LESS.get(why, 0.0) if why else 0.0)
        rank = weight + min(0.8, 0.05 * len(members)) + min(0.19, 0.05 * most)
        group = _Group(kind, source, status, why, tuple(members))
        yield rank if printed is None else PRINTED_WEIGHT, _told(catalog, group, furthest, printed)


def _told(
    catalog: Catalog, group: _Group, furthest: Verdict, printed: Verdict | None
) -> LeadingFinding:
    number = len(group.members)
    found_on = "" if printed else _found_on(group)
    cause = f" ({group.why.short}{found_on})" if group.why else ""
    return LeadingFinding(
        number=counted(number, "figure"),
        show=choice_of(kind=group.kind, source=group.source, status=group.status, why=group.why),
        source=group.source,
        before=f" {agreeing(number, 'is', 'are')} {group.status.word}{cause}: ",
        claim=furthest.claim,
        title=catalog.claims[furthest.claim].statement,
        after=f"{_place_among(group, furthest)}, {_figures(catalog, furthest)}"
        f"{_by_program(printed) if printed else _other_reading(furthest)}.",
        alone=number == 1,
    )


def _found_on(group: _Group) -> str:
    """Return on which GPUs the cause was found, of how many figures; empty where each verdict that
    counts found it itself.
    """
    there = [each.lead.why_on for each in group.members if each.lead.why_on is not None]
    if not there:
        return ""
    which = f" for {len(there)}" if len(there) < len(group.members) else ""
    return f", found{which} on {' and '.join(dict.fromkeys(there))}"


def _place_among(group: _Group, shown: Verdict) -> str:
    if len(group.members) == 1:
        return ""
    most = max(factor_apart(each.lead) for each in group.members)
    furthest = factor_apart(shown) == most and group.status is not Status.REPRODUCED
    return ", furthest off" if furthest else ", for one"


def _figures(catalog: Catalog, verdict: Verdict) -> str:
    """Return what was claimed and what was measured, as a sentence goes on from a claim's title."""
    told_claim = f"claimed {fmt.unbroken(claimed_text(catalog, verdict)).lstrip(SAME)}"
    if verdict.measured is None:
        return told_claim
    what = "a rebuild gives" if is_rebuilt(catalog, verdict) else "measured"
    measured = fmt.figure(verdict.measured, verdict.unit, verdict.claimed)
    return f"{told_claim}, {what} {measured}{_by_the_worst(catalog, verdict)}{_on(verdict)}"


def _on(verdict: Verdict) -> str:
    """Return on which GPU, by the name that the table of claims has for it."""
    return f" on {verdict.target}" if verdict.target else ""


def _by_the_worst(catalog: Catalog, verdict: Verdict) -> str:
    """Return of how many shapes a figure is the worst, which decides; empty of one alone."""
    evaluation = catalog.claims[verdict.claim].evaluation
    shapes = len(evaluation.terms) if isinstance(evaluation, Benchmark) else 1
    return f" in the worst of {shapes} shapes" if shapes > 1 else ""


def _other_reading(verdict: Verdict) -> str:
    held = (r for r in verdict.readings if r.holds and not r.primary and r.measured is not None)
    first = next(held, None)
    if first is None or Status.MISSTATED not in (verdict.status, verdict.as_if):
        return ""
    measured = fmt.figure(first.measured, verdict.unit, verdict.claimed)
    if first.id == AS_TYPED:
        return f", or {measured} by the command as typed"
    return f", or {measured} {OTHERWISE.get(verdict.why, 'by another reading')}"


def _by_program(row: Verdict) -> str:
    printed = fmt.figure(_printed(row), row.unit, row.claimed)
    return f"; the original prints {printed}{_on(row)}"


def _printed(verdict: Verdict) -> float | None:
    """Return what the source's own program printed, where the claimed figure is that."""
    held = (each for each in verdict.readings if each.id == PRINTED and each.holds)
    return next((each.measured for each in held), None)


def _own_kernels(catalog: Catalog, own: Sequence[Outcome]) -> Iterator[Ranked]:
    if not own:
        return
    measured = [each.lead for each in own if isinstance(each.lead.measured, float)]
    ratios = [row for row in measured if row.unit == Unit.RATIO.value]
    missed = [row for row in measured if outcome(row) not in HELD]
    shown = (
        max(missed, key=factor_apart)
        if missed
        else max(ratios, key=lambda row: float(row.measured or 0), default=None)
    )
    whose = "" if catalog.project else " on its own kernels"
    held = sum(each.status in HELD for each in own)
    after = "."
    if shown is not None:
        which = "furthest off" if missed else "the best ratio"
        after = f", {which}, {_figures(catalog, shown)}."
    wrong = [each.lead for each in own if each.status is Status.INCORRECT]
    found = (row.explanation.partition(";")[0].rstrip(".") for row in wrong[:MOST_WRONG])
    after += "".join(f" {says}." for says in found)
    yield (
        1.0,
        LeadingFinding(
            number=f"{counted(len(own), 'claim')} of this project{whose}",
            show=choice_of(kind="own"),
            source=None,
            before=f", {held} {agreeing(held, 'holds', 'hold')}"
            f"{f', {len(wrong)} incorrect' if wrong else ''}"
            f"{': ' if shown is not None else ''}",
            claim=shown.claim if shown is not None else None,
            title=catalog.claims[shown.claim].statement if shown is not None else "",
            after=after,
        ),
    )


def _leads(catalog: Catalog, verdict: Verdict) -> bool:
    entry = catalog.audits.get(verdict.claim)
    return entry is not None and entry.leads


def _relations(catalog: Catalog, relations: Sequence[Outcome]) -> Iterator[Ranked]:
    wrong = [each for each in relations if each.status is Status.INCONSISTENT]
    if not wrong:
        return
    one, many = KINDS["relations"]
    first = next((e.lead for e in wrong if _leads(catalog, e.lead)), wrong[0].lead)
    yield (
        2.6,
        LeadingFinding(
            number=f"{len(wrong)} of {counted(len(relations), one, many)}",
            show=choice_of(kind="relations", status=Status.INCONSISTENT),
            source=None,
            before=f" {agreeing(len(wrong), 'does', 'do')} not hold by the sources' own digits, "
            f"first of source {first.source}: ",
            claim=first.claim,
            title=entry_of(catalog, first).statement,
            after=".",
            alone=len(wrong) == 1,
        ),
    )


def _not_run(published: Sequence[Outcome]) -> Iterator[Ranked]:
    idle = [each for each in published if each.status is Status.NOT_RUN]
    if not idle:
        return
    parts = [f"{why.short} ({count})" for why, count in causes(idle).items()]
    yield (
        0.5,
        LeadingFinding(
            number=counted(len(idle), "published figure"),
            show=choice_of(kind=FIGURES, status=Status.NOT_RUN),
            source=None,
            before=f" {agreeing(len(idle), 'was', 'were')} not run"
            f"{': ' if parts else ''}{', '.join(parts)}.",
            claim=None,
            title="",
            after="",
        ),
    )
