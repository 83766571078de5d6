"""The claims' part of the report: one line a claim, and what is folded below it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.base.printable import shortened
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.headline import FIGURES
from assay.judging.counts import Outcome, kind_of, outcome, rows_by_claim
from assay.records.claims import Audit, Claim
from assay.records.verdicts import Status, Verdict
from assay.report import formatting as fmt
from assay.report.claim_details import VerdictDetail, verdict_details
from assay.report.counts import Facet, came_out, count_words, facets, outcome_words
from assay.report.verdict_text import (
    VerdictText,
    claimed_text,
    entry_of,
    has_no_better_side,
    lead_of,
    toward_better,
    verdict_text,
)

BAR_OF = 2.0  # the factor at which a line's small bar ends, on either side of 1
TITLES = {
    "measured": ("Measured figures", "Measured"),
    "builds": ("Compile probes, counts and other statements", "Found"),
    "arithmetic": ("Relations between printed figures", "Recomputed"),
    "assumed": ("Relations that rest on an assumption", "Recomputed"),
    "notrun": ("Not run", "Measured"),
}
FOLDED = {"probes": "builds", "arithmetic": "arithmetic", "assumed": "assumed"}
"""Which group has claims of a kind; all others were measured."""


@dataclass(frozen=True)
class ClaimLine:
    """One claim: the verdict that it counts by, then every verdict on it in full."""

    entry: Claim | Audit
    verdict: Verdict  # that it counts by
    lead: VerdictText
    place: str
    """In short: source and line, or page."""
    claimed: str
    bar: tuple[str, str] | None
    """Where the bar begins and how long it is, in per cent of its room: to the right of its middle
    for what is better than claimed, as in the strip; None of what is said to be the same."""
    sort_keys: tuple[str, ...]
    """Measured over claimed, the other way round where less is better, none of what is said to
    be the same; the outcome's severity; the place."""
    others: int
    """Further GPUs that have a figure of it."""
    facets: tuple[Facet, ...]
    """What it counts as, and can be filtered by."""
    details: tuple[VerdictDetail, ...]
    note: str
    """What the claim's entry says beside, and what its source leaves out."""


def claim_lines(
    catalog: Catalog,
    evidence: Evidence,
    verdicts: Sequence[Verdict],
    counted_things: Sequence[Outcome],
    impossible: Mapping[str, str] | None = None,
) -> dict[str, ClaimLine]:
    """Return one line a claim, in the order of the judge.

    ``impossible``: of claims that cannot be right, why; their notes begin with it.
    """
    rows = rows_by_claim(verdicts)
    counting = facets(rows, counted_things, {claim: lead_of(own) for claim, own in rows.items()})
    return {
        claim: _line(catalog, evidence, own, counting[claim], (impossible or {}).get(claim))
        for claim, own in rows.items()
    }


def claim_groups(catalog: Catalog, lines: Mapping[str, ClaimLine]) -> list[fmt.Row]:
    """Return what was measured first, then what is folded below it, each claim in one of them."""
    groups: dict[str, list[ClaimLine]] = {name: [] for name in TITLES}
    for line in lines.values():
        group = FOLDED.get(kind_of(catalog, line.verdict), "measured")
        groups["notrun" if line.lead.status is Status.NOT_RUN else group].append(line)
    rows: list[fmt.Row] = []
    for name, found in groups.items():
        every = [facet for line in found for facet in line.facets]
        title, figure = TITLES[name]
        counts, tally = count_words(every), outcome_words(every)
        row = {"id": name, "title": title, "figure": figure, "lines": found}
        rows += [{**row, "counts": counts, "tally": tally}] if found else []
    return rows


def source_rows(
    catalog: Catalog,
    sources: Sequence[str],
    counted_things: Sequence[Outcome],
    lines: Mapping[str, ClaimLine],
) -> Iterator[fmt.Row]:
    """Yield each source, in the order of the plan: what counts of it, how its figures came out."""
    for source in sources:
        described = catalog.sources[source].source
        digest = described.sha256 and f"SHA-256 {fmt.short_hash(described.sha256)}…"
        own = [each for each in counted_things if each.lead.source == source]
        figures = [each for each in own if each.kind == FIGURES]
        figures = figures or [each for each in own if each.kind == "own"]
        of_source = (line for line in lines.values() if line.verdict.source == source)
        yield {
            "id": source,
            "title": described.title,
            "about": " · ".join(filter(None, (described.date, described.file, digest))),
            "counts": count_words(facet for line in of_source for facet in line.facets),
            "came_out": came_out(figures) or fmt.NOTHING,
        }


def _line(
    catalog: Catalog,
    evidence: Evidence,
    rows: Sequence[Verdict],
    counting: tuple[Facet, ...],
    impossible: str | None,
) -> ClaimLine:
    lead = lead_of(rows)
    entry, text = entry_of(catalog, lead), verdict_text(catalog, lead)
    claimed, place = claimed_text(catalog, lead), entry.place
    page, line = place.page, place.line
    ratio = None if has_no_better_side(lead) else toward_better(catalog, lead)
    share = math.log(ratio.value) / math.log(BAR_OF) if ratio else 0.0
    at = 50 + 50 * max(-1.0, min(1.0, share))
    gpus = {row.target for row in rows if row.target and row.measured_on}
    order = [lead, *(row for row in rows if row is not lead)]
    says = [f"By arithmetic alone: {impossible}"] if impossible else []
    return ClaimLine(
        entry,
        lead,
        text,
        place=lead.source + (f":p{page}" if page else "") + (f":{line}" if line else ""),
        claimed=claimed,
        bar=(f"{min(at, 50.0):.1f}", f"{abs(at - 50):.1f}") if ratio else None,
        sort_keys=(
            f"{ratio.value:.4g}" if ratio else "-",
            str(outcome(lead).facts.severity),
            f"{lead.source}:{page or 0:05}:{line or 0:05}",
        ),
        others=len(gpus - {lead.target}),
        facets=counting,
        details=tuple(verdict_details(catalog, evidence, order)),
        note=" ".join([*says, *_notes(entry, lead)]),
    )


def _notes(entry: Claim | Audit, verdict: Verdict) -> Iterator[str]:
    if isinstance(entry, Claim) and entry.computed:
        yield f"The source does not print this figure: it is {entry.computed}."
    if entry.note and entry.note not in verdict.explanation:
        yield entry.note
    if isinstance(entry, Claim) and entry.unstated:
        yield f"The source leaves unsaid: {'; '.join(entry.unstated)}."


UNTITLED = "A project without a title"
LONGEST_TITLE = 120  # characters of a title that is shown as a heading: it is its author's


@dataclass(frozen=True)
class ProjectStamp:
    """A project as its report names it."""

    title: str
    sha256: str
    """Of assay.yaml and all its code: it is signed."""
    says: str
    """Whose the claims are, and what is Assay's."""


def project_stamp(catalog: Catalog) -> ProjectStamp | None:
    """Return the stamp of a project's report; None of one of Assay's own sources."""
    if catalog.project is None:
        return None
    return ProjectStamp(
        title=shortened(" ".join(catalog.project.title.split()), LONGEST_TITLE) or UNTITLED,
        sha256=catalog.project.sha256,
        says="Not a report of Assay's own sources: the claims, their tolerances and formulas are "
        "those of this project, for which its signer stands and nobody else. The margins, the "
        "protocols and the peaks of Assay's targets are Assay's.",
    )
