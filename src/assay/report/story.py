"""What a run says of its documents: sentences that people wrote, counts, and claims by place. Pure.

The sentences stand with the claims (``findings`` of a source). One is left out where a verdict is
another than it rests on, or a figure that it names was not measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.base.printable import capital
from assay.catalog.model import Catalog
from assay.findings.headline import FIGURES, Outcome, tally
from assay.judging.claimed.impossible_figures import impossible_claims
from assay.judging.counts import rows_by_claim
from assay.records.claims import Source, SourceFinding
from assay.records.figure_places import FigurePlace, places, split
from assay.records.verdicts import Status, Verdict
from assay.report import formatting as fmt
from assay.report.claims import ClaimLine
from assay.report.counts import came_out
from assay.report.facets import WITH, count_words
from assay.report.formatting import Row
from assay.shared.counting import agreeing, counted

DIGITS = 3
"""Significant digits of a figure in a sentence."""


@dataclass(frozen=True)
class Sentence:
    """One finding, with its figures filled in."""

    text: str
    rests_on: str
    """The first claim that it rests on."""


def documents(catalog: Catalog, sources: Sequence[str]) -> tuple[Source, ...]:
    """Return the documents among ``sources`` that somebody else wrote."""
    found = (catalog.sources[name].source for name in sources if name in catalog.sources)
    return tuple(each for each in found if each.about is not None)


def story(catalog: Catalog, verdicts: Sequence[Verdict]) -> tuple[Sentence, ...]:
    """Return the findings that hold in this run, source by source."""
    rows = rows_by_claim(verdicts)
    told = (
        _sentence(catalog, finding, rows)
        for file in catalog.sources.values()
        for finding in file.findings
    )
    return tuple(each for each in told if each is not None)


def _sentence(
    catalog: Catalog, finding: SourceFinding, rows: Mapping[str, Sequence[Verdict]]
) -> Sentence | None:
    leads = {name: _lead(catalog, rows.get(name, ())) for name in finding.when}
    if any(lead is None or lead.status not in finding.when[name] for name, lead in leads.items()):
        return None
    text, *words = split(finding.says)
    for place, following in zip(places(finding.says), words, strict=True):
        verdict = leads[place.claim]
        figure = _figure(catalog, verdict, place) if verdict else None
        if figure is None:
            return None
        text += f"{figure}{following}"
    return Sentence(text, next(iter(finding.when)))


def _lead(catalog: Catalog, rows: Sequence[Verdict]) -> Verdict | None:
    """Return the verdict on the GPU that the source names, else on another; None without any."""
    named: set[str | None] = {None}
    if rows and (claim := catalog.claims.get(rows[0].claim)) is not None:
        named |= set(claim.hardware.targets)
    return min(rows, key=lambda row: (row.target not in named, row.measured is None), default=None)


def _figure(catalog: Catalog, verdict: Verdict, place: FigurePlace) -> str | None:
    """Return what stands at a place; None where nothing was measured of it."""
    if place.what == "gpu":
        return verdict.target.upper() if verdict.target else None
    if place.what == "claimed":
        return catalog.claims[place.claim].as_printed
    value: float | str | None = verdict.measured
    if place.reading is not None:
        held = next((each for each in verdict.readings if each.id == place.reading), None)
        value = None if held is None else held.work_ratio if place.what else held.measured
    if not isinstance(value, float):
        return value
    return f"{value:.0f}" if abs(value) >= 10 else fmt.short(value, DIGITS)


def in_markdown(sentence: Sentence, page: str) -> str:
    """Return a finding with a link to its evidence in ``page``."""
    return f"{fmt.markdown(sentence.text)} ([evidence]({page}#{sentence.rests_on}))"


def impossible_lines(lines: Mapping[str, ClaimLine], catalog: Catalog) -> dict[str, str]:
    """Return why claims cannot be right as they are stated, by arithmetic alone: beyond their
    target's peaks, or ratios that the two figures which they are of do not give.
    """
    found = impossible_claims(catalog)
    return {each.of: f"{capital(each.says)}." for each in found if each.of in lines}


def with_impossible(
    lines: Mapping[str, ClaimLine], found: Mapping[str, str]
) -> dict[str, ClaimLine]:
    """Return lines whose notes begin with why they cannot be right."""
    return {
        claim: replace(line, note=f"By arithmetic alone: {found[claim]} {line.note}".rstrip())
        if claim in found
        else line
        for claim, line in lines.items()
    }


SHORT = {Status.NOT_REPRODUCED: "missed"}
"""Headings that are shorter than their status."""


def source_sections(
    catalog: Catalog,
    sources: Sequence[str],
    verdicts: Sequence[Verdict],
    counted_things: Sequence[Outcome],
    lines: Mapping[str, ClaimLine],
) -> Iterator[Row]:
    """Yield one section a source, in the order of the plan."""
    claims = dict.fromkeys((verdict.source, verdict.claim) for verdict in verdicts)
    for source in sources:
        described = catalog.sources[source].source
        digest = described.sha256 and f"SHA-256 {fmt.short_hash(described.sha256)}…"
        own = [lines[claim] for of, claim in claims if of == source]
        yield {
            "id": source,
            "title": described.title,
            "about": " · ".join(filter(None, (described.date, described.file, digest))),
            "counts": count_words(facet for line in own for facet in line.facets),
            "came_out": came_out(_figures(source, counted_things)) or fmt.NOTHING,
            "lines": sorted(own, key=lambda line: line.sort_keys[2]),
        }


def source_table(
    sources: Sequence[str], counted_things: Sequence[Outcome], lines: Mapping[str, ClaimLine]
) -> Row:
    """Return how sources' figures came out, a row each; statuses that none has are left out."""
    figures = {source: tally(_figures(source, counted_things)) for source in sources}
    shown = [status for status in Status if any(status in found for found in figures.values())]
    headings = ("source", "figures", *(SHORT.get(each, each.word) for each in shown), "relations")
    rows = [
        (
            source,
            [
                str(sum(found.values())),
                *(str(found.get(status, "")) for status in shown),
                _relations(source, counted_things),
            ],
        )
        for source, found in figures.items()
    ]
    return {"headings": headings, "rows": rows, "shared": _shared(lines)}


def _figures(source: str, counted_things: Sequence[Outcome]) -> list[Outcome]:
    """Return the speed figures of a source, or this project's own claims."""
    own = [each for each in counted_things if each.lead.source == source]
    figures = [each for each in own if each.kind == FIGURES]
    return figures or [each for each in own if each.kind == "own"]


def _relations(source: str, counted_things: Sequence[Outcome]) -> str:
    """Return how many of a source's own relations hold: ``9/17``."""
    found = tally(e for e in counted_things if e.lead.source == source and e.kind == "relations")
    return f"{found.get(Status.CONSISTENT, 0)}/{sum(found.values())}" if found else ""


def _shared(lines: Mapping[str, ClaimLine]) -> str:
    """Return how many claims count with another, in a sentence; empty where none does."""
    number = sum(facet.kind == WITH for line in lines.values() for facet in line.facets)
    if not number:
        return ""
    return (
        f"{counted(number, 'claim')} {agreeing(number, 'rests', 'rest')} on the samples or the "
        f"sentence of another claim, of whichever source, and {agreeing(number, 'is', 'are')} "
        "counted with it."
    )
