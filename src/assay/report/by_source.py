"""The claims once more by their sources: in the order of the document, by line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.judging.counts import Tally, VerdictCounts, count_verdicts
from assay.records.verdicts import Status, Verdict
from assay.report import formatting as fmt
from assay.report.claims import ClaimLine
from assay.report.counts import told


@dataclass(frozen=True)
class SourceSection:
    """One source: what it is, how its figures came out, and where each stands in it."""

    id: str
    title: str
    about: str
    published: str
    """How its speed figures came out; of this project's own source, its claims."""
    others: str
    """How its other statements and its arithmetic came out."""
    lines: tuple[ClaimLine, ...]


@dataclass(frozen=True)
class SourceTable:
    """How every source's speed figures came out, by status: a row a source."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    """(source, cells)."""


SHORT = {Status.NOT_REPRODUCED: "missed"}
"""Headings that are shorter than their status."""


def source_sections(
    catalog: Catalog,
    sources: Sequence[str],
    verdicts: Sequence[Verdict],
    lines: Mapping[str, ClaimLine],
) -> tuple[SourceSection, ...]:
    """Return one section a source, in the order of the plan."""
    return tuple(_section(catalog, source, verdicts, lines) for source in sources)


def _section(
    catalog: Catalog, source: str, verdicts: Sequence[Verdict], lines: Mapping[str, ClaimLine]
) -> SourceSection:
    described = catalog.sources[source].source
    own = [verdict for verdict in verdicts if verdict.source == source]
    counts = count_verdicts(catalog, own)
    figures = _figures(counts)
    parts = [described.date, described.file]
    if described.sha256:
        parts.append(f"SHA-256 {fmt.short_hash(described.sha256)}…")
    rest = [told(tally) for tally in (counts.probes, counts.arithmetic) if tally]
    claims = dict.fromkeys(verdict.claim for verdict in own)
    return SourceSection(
        id=source,
        title=described.title,
        about=" · ".join(part for part in parts if part),
        published=told(figures) or fmt.NOTHING,
        others="; ".join(rest) or fmt.NOTHING,
        lines=tuple(sorted((lines[claim] for claim in claims), key=lambda line: line.sort_keys[2])),
    )


def source_table(
    catalog: Catalog, sources: Sequence[str], verdicts: Sequence[Verdict]
) -> SourceTable:
    """Return the table of sources; statuses that no figure has are left out."""
    counts = {
        source: count_verdicts(catalog, (v for v in verdicts if v.source == source))
        for source in sources
    }
    figures = {source: _figures(found) for source, found in counts.items()}
    shown = [status for status in Status if any(status in tally for tally in figures.values())]
    return SourceTable(
        ("source", "figures", *(SHORT.get(each, each.word) for each in shown), "relations"),
        tuple(
            (
                source,
                (
                    str(sum(tally.values())),
                    *(str(tally[status]) if status in tally else "" for status in shown),
                    _relations(counts[source].arithmetic),
                ),
            )
            for source, tally in figures.items()
        ),
    )


def _figures(counts: VerdictCounts) -> Tally:
    """Return the speed figures of a source, or this project's own claims, by status."""
    figures = dict(counts.published or counts.own)
    for status, count in counts.elsewhere.items():
        figures[status] = figures.get(status, 0) + count
    return {status: figures[status] for status in Status if status in figures}


def _relations(tally: Tally) -> str:
    """Return how many of a source's own relations hold: ``9/17``."""
    held = tally.get(Status.CONSISTENT, 0)
    return f"{held}/{sum(tally.values())}" if tally else ""
