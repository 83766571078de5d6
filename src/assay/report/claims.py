"""The claims' part of the report: verdicts as rows and pictures, commands as published."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.work_done import work_by_reading
from assay.records.claims import Audit, Claim, Relation
from assay.records.verdicts import Verdict
from assay.report import figures
from assay.report import formatting as fmt
from assay.report.links import Link, link
from assay.report.readings import ReadingTable, reading_table
from assay.shared.counting import counted

RELATIONS = {
    Relation.EQUALS.value: "",
    Relation.SAME.value: "= ",
    Relation.AT_LEAST.value: "≥ ",
    Relation.AT_MOST.value: "≤ ",
}


@dataclass(frozen=True)
class Fact:
    """A label and what stands under it."""

    label: str
    value: str


@dataclass(frozen=True)
class VerdictRow:
    """One verdict, ready to print."""

    claim: str
    statement: str
    place: str
    target: str
    claimed: str
    measured: str
    interval: str | None
    status: str
    word: str
    as_if: str | None
    """Of a figure measured elsewhere: what it would be there."""
    why: str | None
    reason: str | None
    """Code of the reason, where it says more than the cause."""
    artifact: str
    explanation: str
    readings: ReadingTable | None
    facts: tuple[Fact, ...]
    nearest: tuple[str, ...]
    note: str | None
    unstated: tuple[str, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True)
class SourceSection:
    """All verdicts of one source."""

    id: str
    title: str
    about: str
    figure: str | None
    rows: tuple[VerdictRow, ...]
    arithmetic: tuple[VerdictRow, ...]


def source_sections(
    catalog: Catalog, evidence: Evidence, verdicts: Sequence[Verdict]
) -> tuple[SourceSection, ...]:
    """Return one section a source, in the order of the plan, verdicts in the order of the judge."""
    sections = []
    for source in evidence.plan.sources:
        described = catalog.sources[source].source
        own = [verdict for verdict in verdicts if verdict.source == source]
        parts = [described.date, described.file]
        if described.sha256:
            parts.append(f"SHA-256 {fmt.short_hash(described.sha256)}…")
        sections.append(
            SourceSection(
                id=source,
                title=described.title,
                about=" · ".join(part for part in parts if part),
                figure=figures.claimed_against_measured(
                    claim_points(catalog, own), f"claims-{source}"
                ),
                rows=tuple(_row(catalog, evidence, v) for v in own if not _is_arithmetic(v)),
                arithmetic=tuple(_row(catalog, evidence, v) for v in own if _is_arithmetic(v)),
            )
        )
    return tuple(sections)


def _is_arithmetic(verdict: Verdict) -> bool:
    return verdict.status.facts.basis == "arithmetic"


def claim_points(catalog: Catalog, verdicts: Iterable[Verdict]) -> list[figures.ClaimPoint]:
    """Measured figures on the scale of their claims, as the axis of the picture needs them."""
    points = []
    for verdict in verdicts:
        claimed, measured, ci = verdict.claimed, verdict.measured, verdict.ci90
        if not isinstance(claimed, float) or not isinstance(measured, float) or ci is None:
            continue
        whole, value, low, high = (_on_axis(v, verdict.unit) for v in (claimed, measured, *ci))
        if min(whole, value, low, high) <= 0:
            continue
        band = _band(verdict)
        points.append(
            figures.ClaimPoint(
                label=verdict.claim,
                ratio=value / whole,
                low=low / whole,
                high=high / whole,
                band_low=band[0],
                band_high=band[1],
                status=verdict.status,
                note=f"{_claimed(catalog, verdict)} → {fmt.quantity(measured, verdict.unit)}",
            )
        )
    return points


def _on_axis(value: float, unit: str | None) -> float:
    """Return a gain in per cent as the ratio it means; other figures as they are."""
    return 1 + value / 100 if unit == "percent" else value


def _band(verdict: Verdict) -> tuple[float | None, float | None]:
    """Return where the interval must lie: around 1 by the margin, or on one side of 1."""
    if verdict.relation == Relation.AT_LEAST:
        return 1.0, None
    if verdict.relation == Relation.AT_MOST:
        return None, 1.0
    margin = verdict.margin or 0.0
    return 1 / (1 + margin), 1 + margin


def _entry(catalog: Catalog, verdict: Verdict) -> Claim | Audit:
    return catalog.claims.get(verdict.claim) or catalog.audits[verdict.claim]


def _claimed(catalog: Catalog, verdict: Verdict) -> str:
    if verdict.claimed is None or isinstance(verdict.claimed, str):
        return verdict.claimed or fmt.NOTHING
    entry = _entry(catalog, verdict)
    if isinstance(entry, Claim) and entry.value == verdict.claimed:
        text = fmt.printed(verdict.claimed, entry.resolution)
    else:
        text = fmt.number(verdict.claimed)
    return RELATIONS.get(verdict.relation, "") + fmt.with_unit(text, verdict.unit)


def _row(catalog: Catalog, evidence: Evidence, verdict: Verdict) -> VerdictRow:
    entry = _entry(catalog, verdict)
    claim = entry if isinstance(entry, Claim) else None
    return VerdictRow(
        claim=verdict.claim,
        statement=entry.statement,
        place=f"{entry.place.section}, {entry.place.spot}",
        target=verdict.target or "",
        claimed=_claimed(catalog, verdict),
        measured=fmt.quantity(verdict.measured, verdict.unit),
        interval=fmt.interval(verdict.ci90),
        status=verdict.status.value,
        word=verdict.status.word,
        as_if=verdict.as_if.word if verdict.as_if else None,
        why=verdict.why.words if verdict.why else None,
        reason=fmt.words(verdict.reason)
        if verdict.reason and verdict.reason != verdict.why
        else None,
        artifact=verdict.artifact or "",
        explanation=verdict.explanation,
        readings=reading_table(verdict, work_by_reading(catalog, evidence, verdict)),
        facts=tuple(_facts(verdict, claim)),
        nearest=tuple(
            f"{near.what}{' on ' + near.target if near.target else ''}: "
            f"{fmt.quantity(near.measured, near.unit)}"
            f"{' ' + text if (text := fmt.interval(near.ci90)) else ''}"
            for near in verdict.nearest
        ),
        note=None if entry.note and entry.note in verdict.explanation else entry.note,
        unstated=claim.unstated if claim else (),
        links=tuple(link(path) for path in verdict.evidence),
    )


def _facts(verdict: Verdict, claim: Claim | None) -> Iterable[Fact]:
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
        yield Fact("margin", fmt.percent(verdict.margin))
    if verdict.noise_floor is not None:
        yield Fact("A/A noise floor", fmt.percent(verdict.noise_floor))
    if verdict.samples is not None:
        discarded = verdict.discarded_blocks or 0
        yield Fact("samples", f"{verdict.samples}, {counted(discarded, 'block')} discarded")
    if verdict.roofline_fraction is not None:
        yield Fact("of roofline bound", fmt.percent(verdict.roofline_fraction))
    if verdict.measured_on:
        on = verdict.measured_on
        limit = "" if on.power_limit_w is None else f", {fmt.number(on.power_limit_w)} W"
        here = "in this run" if on.in_this_run else "in an earlier, signed run"
        yield Fact(
            "measured on",
            f"{on.product} {on.uuid}{limit}, driver {on.driver}, {on.recorded_at}, {here}",
        )
    if verdict.binary_sha256:
        yield Fact("binary", verdict.binary_sha256)
