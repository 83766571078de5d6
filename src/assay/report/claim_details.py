"""What is folded below a claim's line: every verdict on it in full, each thing said once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assay.base.printable import capital
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import platform_path
from assay.findings.work_done import work_by_reading
from assay.judging.verdicts import FIGURES
from assay.records.claims import Claim
from assay.records.verdicts import Nearest, Verdict
from assay.report import formatting as fmt
from assay.report.facts import Fact
from assay.report.links import Link, record_link
from assay.report.readings import ReadingTable, in_short, reading_table
from assay.report.sentences import sentences, without
from assay.report.verdict_text import VerdictText, entry_of, verdict_text
from assay.shared.counting import counted


@dataclass(frozen=True)
class VerdictDetail:
    """What is folded below a line, of one verdict."""

    text: VerdictText
    told: str
    """Its explanation, without the figures, which stand above it."""
    readings: ReadingTable | None
    facts: tuple[Fact, ...]
    nearest: tuple[str, ...]
    links: tuple[Link, ...]
    rest: str | None = None
    """The claim of the same samples that has the facts and records that are left out here."""


def verdict_details(
    catalog: Catalog, evidence: Evidence, rows: Sequence[Verdict]
) -> Iterator[VerdictDetail]:
    """Yield every verdict in full; those after the first without what it has said."""
    first, *others = (_detail(catalog, evidence, row) for row in rows)
    yield replace(first, told=_found_elsewhere(catalog, rows[0]) + first.told)
    known = sentences(_explanation(rows[0]))
    for row, other in zip(rows[1:], others, strict=True):
        yield replace(
            other,
            told=without(_explanation(row), known),
            facts=tuple(fact for fact in other.facts if fact not in first.facts),
            readings=in_short(other.readings, first.readings),
            links=tuple(
                link for link in other.links if link not in first.links and row.measured_on
            ),
            nearest=tuple(near for near in other.nearest if near not in first.nearest),
        )


def _detail(catalog: Catalog, evidence: Evidence, verdict: Verdict) -> VerdictDetail:
    entry = entry_of(catalog, verdict)
    claim = entry if isinstance(entry, Claim) else None
    machines = [f"evidence/{platform_path(target)}" for target in evidence.platforms]
    return VerdictDetail(
        text=verdict_text(catalog, verdict),
        told=_explanation(verdict),
        readings=reading_table(verdict, work_by_reading(catalog, evidence, verdict)),
        facts=tuple(_facts(verdict, claim)),
        nearest=tuple(_near(near, verdict) for near in verdict.nearest),
        links=tuple(
            record_link(path, verdict.target) for path in verdict.evidence if path not in machines
        ),
    )


def _found_elsewhere(catalog: Catalog, lead: Verdict) -> str:
    """Return a sentence on which GPU a line's cause was found; empty where that is its own."""
    if lead.why is None or lead.why_on is None:
        return ""
    on = catalog.targets[lead.why_on].product
    return f"Its cause, {lead.why.short}, was found on {on} (below). "


def _explanation(verdict: Verdict) -> str:
    """Return a verdict's explanation without the figures in it, which stand beside it."""
    figures = FIGURES.search(verdict.explanation)
    if figures is None or verdict.ci90 is None:
        return verdict.explanation
    before, after = verdict.explanation[: figures.start()], verdict.explanation[figures.end() :]
    return f"{before}{capital(after)}"


def _facts(verdict: Verdict, claim: Claim | None) -> Iterator[Fact]:
    if claim and claim.configuration:
        yield Fact("stated", fmt.shape(claim.configuration))
    if claim and claim.hardware.as_stated:
        yield Fact("stated hardware", claim.hardware.as_stated)
    if claim and claim.flop_formula:
        yield Fact("FLOP formula", fmt.words(claim.flop_formula.value))
    if verdict.ran:
        yield Fact("ran", verdict.ran)
    if verdict.artifact:
        yield Fact("artifact", verdict.artifact)
    if verdict.margin is not None:
        yield Fact("margin", fmt.declared_percent(verdict.margin))
    if verdict.noise_floor is not None:
        yield Fact("same binary against itself", f"within {fmt.percent(verdict.noise_floor)}")
    if verdict.samples is not None:
        discarded = verdict.discarded_blocks or 0
        yield Fact("samples", f"{verdict.samples}, {counted(discarded, 'block')} discarded")
    if verdict.roofline_fraction is not None:
        yield Fact("of the roofline bound", fmt.percent(verdict.roofline_fraction))
    if verdict.binary_sha256:
        yield Fact("binary", fmt.short_hash(verdict.binary_sha256))


def _near(near: Nearest, verdict: Verdict) -> str:
    beside = verdict.claimed if near.unit == verdict.unit else None
    interval = fmt.interval_of(near.measured, near.unit, near.ci90, beside)
    return (
        f"{near.what}{' on ' + near.target if near.target else ''}: "
        f"{fmt.figure(near.measured, near.unit, beside)}{f' {interval}' if interval else ''}"
    )


def referring(detail: VerdictDetail, before: VerdictDetail | None, claim: str) -> VerdictDetail:
    """Return a detail without the facts and records that ``before``, of ``claim``, has."""
    if before is None:
        return detail
    facts = tuple(fact for fact in detail.facts if fact not in before.facts)
    links = tuple(link for link in detail.links if link not in before.links)
    nearest = tuple(near for near in detail.nearest if near not in before.nearest)
    same = (facts, links, nearest) == (detail.facts, detail.links, detail.nearest)
    return replace(detail, facts=facts, links=links, nearest=nearest, rest=None if same else claim)
