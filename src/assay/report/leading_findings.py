"""The findings of a run: up to ten sentences made from its verdicts, most consequential first.

Published figures that came out alike for the same cause make one finding a source, told by the one
that is furthest off.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.findings.headline import PUBLISHED
from assay.judging.counts import Counted, counted_once, outcome
from assay.judging.own_program import PRINTED
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict, Why
from assay.report import formatting as fmt
from assay.report.claims import claimed_text
from assay.report.counts import told
from assay.report.ratios import ratio_of
from assay.shared.counting import agreeing, counted

MOST = 10
"""Findings of a run."""
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


@dataclass(frozen=True)
class LeadingFinding:
    """One sentence, and the claim that it names."""

    claim: str | None
    before: str
    """The sentence up to the claim's title."""
    title: str
    after: str

    @property
    def sentence(self) -> str:
        """Return it as plain text."""
        return f"{self.before}{self.title}{self.after}"


Ranked = tuple[float, LeadingFinding]
"""A finding and its consequence; the larger comes first."""


def leading_findings(catalog: Catalog, verdicts: Sequence[Verdict]) -> tuple[LeadingFinding, ...]:
    """Return what the verdicts come to; none for what nobody has."""
    once = counted_once(catalog, verdicts)
    published = [each for each in once if each.kind in PUBLISHED]
    found = [
        *_of_groups(catalog, published),
        *_printed_by_program(catalog, verdicts, published),
        *_own_kernels(catalog, [each for each in once if each.kind == "own"]),
        *_arithmetic([each for each in once if each.kind == "arithmetic"]),
        *_not_run(published),
    ]
    found.sort(key=lambda entry: -entry[0])
    return tuple(finding for _, finding in found[:MOST])


def factor_apart(verdict: Verdict) -> float:
    """Return by which factor claimed and measured figure differ, whichever is larger; 1 or more."""
    ratio = ratio_of(verdict)
    return 1.0 if ratio is None else math.exp(abs(math.log(ratio.value)))


def _of_groups(catalog: Catalog, published: Sequence[Counted]) -> Iterator[Ranked]:
    groups: dict[tuple[str, Status, Why | None], list[Counted]] = {}
    for each in published:
        if each.status in WEIGHTS and ratio_of(each.worst) is not None:
            key = each.worst.source, each.status, each.worst.why
            groups.setdefault(key, []).append(each)
    for (source, status, why), members in groups.items():
        furthest = max(members, key=lambda each: factor_apart(each.worst)).worst
        most = math.log(factor_apart(furthest))
        weight = WEIGHTS[status] - (LESS.get(why, 0.0) if why else 0.0)
        rank = weight + min(0.8, 0.05 * len(members)) + min(0.19, 0.05 * most)
        yield rank, _group(catalog, source, status, why, members, furthest)


def _group(
    catalog: Catalog,
    source: str,
    status: Status,
    why: Why | None,
    members: Sequence[Counted],
    furthest: Verdict,
) -> LeadingFinding:
    number = len(members)
    are = agreeing(number, "is", "are")
    what = f"{counted(number, 'figure')} of source {source} {are}"
    cause = f": {why.words}" if why and status is not Status.REPRODUCED else ""
    if status is Status.MISSTATED:
        what += f" misstated{cause}"
    elif status is Status.EXCEEDED:
        what += " exceeded"
    else:
        what += f" {status.word}{cause}"
    if status is Status.REPRODUCED:
        what += " within the margin" if furthest.margin is not None else ""
    lead = ", such as " if status is Status.REPRODUCED else "; the furthest is "
    if number == 1:
        lead = ": "
    held = next((r for r in furthest.readings if r.holds and not r.primary), None)
    reading = ""
    if status is Status.MISSTATED and held is not None and held.measured is not None:
        had = fmt.quantity(held.measured, furthest.unit)
        reading = f"; under another reading it is {had} ({held.says})"
    return LeadingFinding(
        furthest.claim,
        f"{what}{lead}",
        catalog.claims[furthest.claim].statement,
        f" ({_figures(catalog, furthest)}){reading}.",
    )


def _figures(catalog: Catalog, verdict: Verdict) -> str:
    ratio = ratio_of(verdict)
    rebuilt = " as rebuilt here" if verdict.artifact == "reimplemented" else ""
    factor = "" if ratio is None else f", {fmt.factor(ratio.value)}"
    product = catalog.targets[verdict.target].product if verdict.target else ""
    on = f" on {product}" if product else ""
    return (
        f"claimed {claimed_text(catalog, verdict)}, measured "
        f"{fmt.quantity(verdict.measured, verdict.unit)}{rebuilt}{on}{factor}"
    )


def _printed_by_program(
    catalog: Catalog, verdicts: Sequence[Verdict], published: Sequence[Counted]
) -> Iterator[Ranked]:
    """Yield the claims whose figure the author's program prints, of other work than it does."""
    told_of = {row.claim for each in published if each.status is Status.MISSTATED
               for row in each.rows}  # fmt: skip
    own = {source for source, file in catalog.sources.items() if file.source.file is None}
    away = [
        verdict
        for verdict in verdicts
        if outcome(verdict) is Status.MISSTATED
        and verdict.claim not in told_of
        and verdict.source not in own
        and ratio_of(verdict) is not None
    ]
    if not away:
        return
    most = max(away, key=lambda verdict: (_printed(verdict) is not None, factor_apart(verdict)))
    printed = _printed(most)
    program = (
        f"; the author's own program prints {fmt.quantity(printed, most.unit)}"
        if printed is not None
        else ""
    )
    alike = {row.claim for row in away if (row.source, row.why) == (most.source, most.why)}
    cause = f" ({most.why.words})" if most.why else ""
    yield (
        WEIGHTS[Status.MISSTATED] + 0.9,
        LeadingFinding(
            most.claim,
            f"{counted(len(alike), 'figure')} of source {most.source} "
            f"{agreeing(len(alike), 'is', 'are')} misstated as measured on "
            f"{catalog.targets[most.target].product if most.target else 'another GPU'}{cause}: ",
            catalog.claims[most.claim].statement,
            f" ({_figures(catalog, most)}){program}.",
        ),
    )


def _printed(verdict: Verdict) -> float | None:
    """Return what the source's own program printed, where the claimed figure is that."""
    held = (each for each in verdict.readings if each.id == PRINTED and each.holds)
    return next((each.measured for each in held), None)


def _own_kernels(catalog: Catalog, own: Sequence[Counted]) -> Iterator[Ranked]:
    rows = [each.worst for each in own]
    ratios = [
        row for row in rows if row.unit == Unit.RATIO.value and isinstance(row.measured, float)
    ]
    if not rows:
        return
    statuses: dict[Status, int] = {}
    for each in own:
        statuses[each.status] = statuses.get(each.status, 0) + 1
    tally = {status: statuses[status] for status in Status if status in statuses}
    whose = "of this project" if catalog.project else "of this project on its own kernels"
    before = f"{counted(len(own), 'claim')} {whose}: {told(tally)}"
    if not ratios:
        yield 1.0, LeadingFinding(None, f"{before}.", "", "")
        return
    best = max(ratios, key=lambda row: float(row.measured or 0))
    yield (
        1.0,
        LeadingFinding(
            best.claim,
            f"{before}; the best ratio is ",
            catalog.claims[best.claim].statement,
            f" ({_figures(catalog, best)}: {outcome(best).word}).",
        ),
    )


def _arithmetic(arithmetic: Sequence[Counted]) -> Iterator[Ranked]:
    wrong = [each for each in arithmetic if each.status is Status.INCONSISTENT]
    if not wrong:
        return
    by_source: dict[str, int] = {}
    for each in wrong:
        by_source[each.worst.source] = by_source.get(each.worst.source, 0) + 1
    most = max(by_source, key=lambda source: by_source[source])
    share = "" if len(by_source) == 1 else f", {by_source[most]} of them in source {most}"
    yield (
        2.6,
        LeadingFinding(
            None,
            f"{len(wrong)} of {counted(len(arithmetic), 'relation')} between printed figures "
            f"{agreeing(len(wrong), 'does', 'do')} not hold by the sources' own digits{share}.",
            "",
            "",
        ),
    )


def _not_run(published: Sequence[Counted]) -> Iterator[Ranked]:
    idle = [each for each in published if each.status is Status.NOT_RUN]
    if not idle:
        return
    causes: dict[Why, int] = {}
    for each in idle:
        if each.worst.why:
            causes[each.worst.why] = causes.get(each.worst.why, 0) + 1
    parts = sorted(causes.items(), key=lambda item: -item[1])
    listed = "; ".join(f"{count} because {why.words}" for why, count in parts)
    yield (
        0.5,
        LeadingFinding(
            None,
            f"{counted(len(idle), 'published figure')} {agreeing(len(idle), 'was', 'were')} not "
            f"measured: {listed}."
            if listed
            else "",
            "",
            "",
        ),
    )
