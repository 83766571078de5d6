"""The claims once more by their sources: in the order of the document, by line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.findings.headline import FIGURES, Outcome, tally
from assay.records.verdicts import Status, Verdict
from assay.report import formatting as fmt
from assay.report.claims import ClaimLine
from assay.report.counts import came_out
from assay.report.facets import WITH, count_words
from assay.shared.counting import agreeing, counted


@dataclass(frozen=True)
class SourceSection:
    """One source: what it is, how its figures came out, and where each stands in it."""

    id: str
    title: str
    about: str
    counts: str
    """How many of what stand in it."""
    came_out: str
    """How its speed figures came out; of this project's own source, its claims."""
    lines: tuple[ClaimLine, ...]


@dataclass(frozen=True)
class SourceTable:
    """How every source's speed figures came out, by status: a row a source."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    """(source, cells)."""
    shared: str
    """How many claims are counted with another source's; empty where none is."""


SHORT = {Status.NOT_REPRODUCED: "missed"}
"""Headings that are shorter than their status."""


def source_sections(
    catalog: Catalog,
    sources: Sequence[str],
    verdicts: Sequence[Verdict],
    counted_things: Sequence[Outcome],
    lines: Mapping[str, ClaimLine],
) -> tuple[SourceSection, ...]:
    """Return one section a source, in the order of the plan."""
    claims = dict.fromkeys((verdict.source, verdict.claim) for verdict in verdicts)
    return tuple(
        _section(
            catalog,
            source,
            [each for each in counted_things if each.lead.source == source],
            [lines[claim] for of, claim in claims if of == source],
        )
        for source in sources
    )


def _section(
    catalog: Catalog, source: str, counted_things: Sequence[Outcome], lines: Sequence[ClaimLine]
) -> SourceSection:
    described = catalog.sources[source].source
    parts = [described.date, described.file]
    if described.sha256:
        parts.append(f"SHA-256 {fmt.short_hash(described.sha256)}…")
    facets = [facet for line in lines for facet in line.facets]
    return SourceSection(
        id=source,
        title=described.title,
        about=" · ".join(part for part in parts if part),
        counts=count_words(facets),
        came_out=came_out(_figures(counted_things)) or fmt.NOTHING,
        lines=tuple(sorted(lines, key=lambda line: line.sort_keys[2])),
    )


def source_table(
    sources: Sequence[str], counted_things: Sequence[Outcome], lines: Mapping[str, ClaimLine]
) -> SourceTable:
    """Return the table of sources; statuses that no figure has are left out."""
    of = {s: [each for each in counted_things if each.lead.source == s] for s in sources}
    figures = {source: tally(_figures(found)) for source, found in of.items()}
    shown = [status for status in Status if any(status in found for found in figures.values())]
    return SourceTable(
        ("source", "figures", *(SHORT.get(each, each.word) for each in shown), "relations"),
        tuple(
            (
                source,
                (
                    str(sum(found.values())),
                    *(str(found[status]) if status in found else "" for status in shown),
                    _relations(of[source]),
                ),
            )
            for source, found in figures.items()
        ),
        _shared(lines),
    )


def _figures(counted_things: Sequence[Outcome]) -> list[Outcome]:
    """Return the speed figures of a source, or this project's own claims."""
    figures = [each for each in counted_things if each.kind == FIGURES]
    return figures or [each for each in counted_things if each.kind == "own"]


def _relations(counted_things: Sequence[Outcome]) -> str:
    """Return how many of a source's own relations hold: ``9/17``."""
    found = tally(each for each in counted_things if each.kind == "relations")
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
