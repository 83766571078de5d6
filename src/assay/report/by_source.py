"""The claims once more by their sources: how each came out, and where its claims stand in it."""

from collections.abc import Iterator, Mapping, Sequence

from assay.catalog.model import Catalog
from assay.findings.headline import FIGURES, Outcome, tally
from assay.records.verdicts import Status, Verdict
from assay.report import formatting as fmt
from assay.report.claims import ClaimLine
from assay.report.counts import came_out
from assay.report.facets import WITH, count_words
from assay.report.formatting import Row
from assay.shared.counting import agreeing, counted

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
