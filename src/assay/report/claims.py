"""The claims' part of the report: one line a claim, and what is folded below it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import platform_path
from assay.findings.claimed_figures import RELATIONS, printed_digits
from assay.findings.headline import Outcome
from assay.findings.work_done import work_by_reading
from assay.judging.causes import known_cause
from assay.judging.counts import kind_of, outcome, rows_by_claim
from assay.judging.verdicts import FIGURES
from assay.records.claims import Audit, Claim
from assay.records.evaluations import NotRun
from assay.records.verdicts import Status, Verdict, Why
from assay.report import formatting as fmt
from assay.report.counts import capital
from assay.report.facets import Facet, count_words, facets, status_words
from assay.report.links import Link, record_link
from assay.report.marks import Mark, verdict_mark
from assay.report.project_stamp import project_stamp
from assay.report.ratios import ratio_of
from assay.report.readings import ReadingTable, in_short, reading_table
from assay.report.sentences import sentences, without
from assay.shared.counting import counted

NOT_RECORDED = "No earlier report measured it as stated"
"""What the name of a missing file means."""
BAR_OF = 8.0
"""The factor at which a line's small bar ends, on either side of 1."""


@dataclass(frozen=True)
class Fact:
    """A label and what stands under it."""

    label: str
    value: str


@dataclass(frozen=True)
class VerdictText:
    """A verdict in short: the figures and how they stand."""

    target: str
    gpu: str
    """Product that it was measured on; empty where nothing was."""
    measured: str
    interval: str | None
    factor: str | None
    """Measured over claimed, in words; None where there is no ratio."""
    status: Status
    """Of a figure measured elsewhere, what it would be on the GPU named."""
    mark: Mark
    instead_of: str | None
    """Of a figure measured elsewhere: the targets that its source names."""
    reason: str | None
    """Code of the reason, where it says more than the cause."""


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


@dataclass(frozen=True)
class ClaimLine:
    """One claim: the verdict that it counts by, then every verdict on it in full."""

    id: str
    source: str
    title: str
    place: str
    """In short: source and line, or page."""
    spot: str
    """``line 12``, ``page 9, line 3``."""
    section: str
    claimed: str
    lead: VerdictText
    bar: tuple[str, str] | None
    """Where the bar begins and how long it is, in per cent of its room."""
    why: str
    """The cause, in short; empty where the claim plainly holds."""
    sort_keys: tuple[str, ...]
    """Measured over claimed, of times the other way round; the outcome's severity; the place."""
    others: int
    """Further GPUs that have a figure of it."""
    spread: str | None
    """How far other cards and runs lie from it; None where there is none."""
    facets: tuple[Facet, ...]
    """What it counts as, and can be filtered by."""
    details: tuple[VerdictDetail, ...]
    note: str
    """What the claim's entry says beside; empty where the explanation says it, or nothing does."""
    unstated: str
    """What the source leaves out, in a sentence; empty where nothing is known to be missing."""
    cite: str


@dataclass(frozen=True)
class ClaimGroup:
    """Claims of one kind, in one table."""

    id: str
    title: str
    lines: tuple[ClaimLine, ...]
    counts: str
    """How many of what they count as."""
    tally: str
    """How many of these came out how."""


def claim_lines(
    catalog: Catalog,
    evidence: Evidence,
    verdicts: Sequence[Verdict],
    counted_things: Sequence[Outcome],
    run: str,
) -> dict[str, ClaimLine]:
    """Return one line a claim, in the order of the judge."""
    rows = rows_by_claim(verdicts)
    leads = {claim: lead_of(own) for claim, own in rows.items()}
    counting = facets(verdicts, counted_things, leads)
    lines: dict[str, ClaimLine] = {}
    for claim, own in rows.items():
        line = _line(catalog, evidence, own, counting[claim], run)
        shared = (
            lines[name]
            for name in own[0].same_measurement
            if name in lines and not any(detail.rest for detail in lines[name].details)
        )
        lines[claim] = _without_repeats(line, next(shared, None))
    return lines


def _entry_note(entry: Claim | Audit, verdict: Verdict) -> str:
    return "" if not entry.note or entry.note in verdict.explanation else entry.note


def _without_repeats(line: ClaimLine, told: ClaimLine | None) -> ClaimLine:
    """Return a line without what one that rests on the same samples says: it is named instead."""
    if told is None:
        return line
    readings = told.details[0].readings
    before = {detail.text.target: detail for detail in told.details if detail.text.gpu}
    return replace(
        line,
        details=tuple(
            _referring(
                replace(detail, readings=in_short(detail.readings, readings, told.id)),
                before.get(detail.text.target),
                told.id,
            )
            for detail in line.details
        ),
    )


def _referring(detail: VerdictDetail, before: VerdictDetail | None, claim: str) -> VerdictDetail:
    """Return a detail without the facts and records that ``before``, of ``claim``, has."""
    if before is None:
        return detail
    facts = tuple(fact for fact in detail.facts if fact not in before.facts)
    links = tuple(link for link in detail.links if link not in before.links)
    nearest = tuple(near for near in detail.nearest if near not in before.nearest)
    same = (facts, links, nearest) == (detail.facts, detail.links, detail.nearest)
    return replace(detail, facts=facts, links=links, nearest=nearest, rest=None if same else claim)


def claim_groups(
    catalog: Catalog, verdicts: Sequence[Verdict], lines: Mapping[str, ClaimLine]
) -> tuple[ClaimGroup, ...]:
    """Return what was measured first, then what is folded below it, each claim in one of them."""
    lead = {verdict.claim: verdict for verdict in reversed(verdicts)}
    places: dict[str, list[ClaimLine]] = {"measured": [], "builds": [], "arithmetic": [],
                                          "notrun": []}  # fmt: skip
    for claim, line in lines.items():
        places[_place_of(catalog, line, lead[claim])].append(line)
    titles = {
        "measured": "Measured figures",
        "builds": "Compile probes, counts and other statements",
        "arithmetic": "Relations between printed figures",
        "notrun": "Not run",
    }
    return tuple(_group_of(name, titles[name], found) for name, found in places.items() if found)


def _group_of(name: str, title: str, lines: Sequence[ClaimLine]) -> ClaimGroup:
    every = [facet for line in lines for facet in line.facets]
    return ClaimGroup(name, title, tuple(lines), count_words(every), status_words(every))


def _place_of(catalog: Catalog, line: ClaimLine, verdict: Verdict) -> str:
    if line.lead.status is Status.NOT_RUN:
        return "notrun"
    kind = kind_of(catalog, verdict)
    return {"probes": "builds", "arithmetic": "arithmetic"}.get(kind, "measured")


def _line(
    catalog: Catalog,
    evidence: Evidence,
    rows: Sequence[Verdict],
    counting: tuple[Facet, ...],
    run: str,
) -> ClaimLine:
    lead = lead_of(rows)
    entry = entry_of(catalog, lead)
    ratio = ratio_of(lead)
    text = _text(catalog, lead)
    claimed = claimed_text(catalog, lead)
    claim = entry if isinstance(entry, Claim) else None
    gpus = tuple(dict.fromkeys(row.target for row in rows if row.target and row.measured_on))
    order = [lead, *(row for row in rows if row is not lead)]
    why = known_cause(lead, rows)
    return ClaimLine(
        id=lead.claim,
        source=lead.source,
        title=entry.statement,
        place=_place(lead.source, entry),
        spot=entry.place.spot,
        section=entry.place.section,
        claimed=claimed,
        lead=text,
        bar=None if ratio is None else _bar(ratio.value),
        why=why.short if why else "",
        sort_keys=(
            "-" if ratio is None else f"{ratio.value:.4g}",
            str(outcome(lead).facts.severity),
            f"{lead.source}:{entry.place.page or 0:05}:{entry.place.line or 0:05}",
        ),
        others=sum(gpu != lead.target for gpu in gpus),
        spread=None,
        facets=counting,
        details=tuple(_details(catalog, evidence, order, why)),
        note=_entry_note(entry, lead),
        unstated=_unstated(claim),
        cite=_cite(_report_name(catalog, run), lead, entry, claimed, text),
    )


def _place(source: str, entry: Claim | Audit) -> str:
    """Return a place in short: ``002:13``, or with a page ``post:p9:3``."""
    page, line = entry.place.page, entry.place.line
    return ":".join([source, *([f"p{page}"] if page else []), *([str(line)] if line else [])])


def lead_of(rows: Sequence[Verdict]) -> Verdict:
    """Return the verdict that a claim's line shows, which is the one that it counts by.

    That is the worst on hardware that the source names, else the first that was measured
    elsewhere, else the first.
    """
    there = [row for row in rows if row.status not in (Status.ELSEWHERE, Status.NOT_RUN)]
    elsewhere = [row for row in rows if row.status is Status.ELSEWHERE]
    if there:
        return min(there, key=lambda row: row.status.facts.severity)
    return (elsewhere or rows)[0]


def entry_of(catalog: Catalog, verdict: Verdict) -> Claim | Audit:
    """Return the claim or audit that a verdict is on."""
    return catalog.claims.get(verdict.claim) or catalog.audits[verdict.claim]


def claimed_text(catalog: Catalog, verdict: Verdict) -> str:
    """Return the claimed figure with as many digits as its source prints."""
    if verdict.claimed is None or isinstance(verdict.claimed, str):
        return verdict.claimed or fmt.NOTHING
    digits = printed_digits(catalog.claims.get(verdict.claim), verdict.claimed)
    return RELATIONS.get(verdict.relation, "") + fmt.with_unit(digits, verdict.unit)


def _bar(ratio: float) -> tuple[str, str]:
    """Return begin and length of a bar from 1 in the middle to the ratio, in per cent."""
    at = 50 + 50 * fmt.log_share(ratio, BAR_OF)
    return f"{min(at, 50.0):.1f}", f"{abs(at - 50):.1f}"


def _text(catalog: Catalog, verdict: Verdict) -> VerdictText:
    target = catalog.targets.get(verdict.target or "")
    measured = verdict.measured_on is not None and verdict.measured is not None
    ratio = ratio_of(verdict)
    says_more = verdict.reason and verdict.reason != verdict.why
    away = verdict.status is Status.ELSEWHERE
    return VerdictText(
        target=verdict.target or "",
        gpu=target.product if target and measured else "",
        measured=fmt.figure(verdict.measured, verdict.unit),
        interval=fmt.interval_of(verdict.measured, verdict.unit, verdict.ci90),
        factor=None if ratio is None else fmt.factor(ratio.value),
        status=outcome(verdict),
        mark=verdict_mark(verdict),
        instead_of=_named(catalog, verdict) if away else None,
        reason=fmt.words(verdict.reason) if verdict.reason and says_more else None,
    )


def _found_elsewhere(catalog: Catalog, rows: Sequence[Verdict], why: Why | None) -> str:
    """Return a sentence on which GPU a line's cause was found, where its own verdict has another;
    empty where it has not.
    """
    lead, *others = rows
    if why is None or why is lead.why:
        return ""
    on = next(row.target for row in others if row.why is why and row.target)
    return f"Its cause, {why.short}, was found on {catalog.targets[on].product} (below). "


def _named(catalog: Catalog, verdict: Verdict) -> str | None:
    """Return the targets that a claim's source names, in short."""
    claim = catalog.claims.get(verdict.claim)
    return "/".join(claim.hardware.targets) or None if claim else None


def _details(
    catalog: Catalog, evidence: Evidence, rows: Sequence[Verdict], why: Why | None
) -> Iterator[VerdictDetail]:
    """Yield every verdict in full; those after the first without what it has said."""
    first, *others = (_detail(catalog, evidence, row) for row in rows)
    yield replace(first, told=_found_elsewhere(catalog, rows, why) + first.told)
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
        text=_text(catalog, verdict),
        told=_explanation(verdict),
        readings=reading_table(verdict, work_by_reading(catalog, evidence, verdict)),
        facts=tuple(_facts(verdict, claim)),
        nearest=tuple(
            f"{near.what}{' on ' + near.target if near.target else ''}: "
            f"{fmt.figure(near.measured, near.unit)}"
            f"{_behind(fmt.interval_of(near.measured, near.unit, near.ci90))}"
            for near in verdict.nearest
        ),
        links=tuple(
            record_link(path, verdict.target) for path in verdict.evidence if path not in machines
        ),
    )


def _behind(interval: str | None) -> str:
    return "" if interval is None else f" {interval}"


def _unstated(claim: Claim | None) -> str:
    """Return what a claim's source leaves out, in one sentence; empty where it leaves nothing."""
    if claim is None or not claim.unstated:
        return ""
    return f"The source leaves unsaid: {'; '.join(claim.unstated)}."


def _explanation(verdict: Verdict) -> str:
    """Return a verdict's explanation without the figures in it, which stand beside it."""
    if verdict.reason == NotRun.NOT_RECORDED.value:
        return f"{NOT_RECORDED}: {verdict.explanation}"
    figures = FIGURES.search(verdict.explanation)
    if figures is None or verdict.ci90 is None:
        return verdict.explanation
    before, after = verdict.explanation[: figures.start()], verdict.explanation[figures.end() :]
    return f"{before}{capital(after)}"


def _report_name(catalog: Catalog, run: str) -> str:
    """Return how a line that is quoted names the report."""
    stamp = project_stamp(catalog)
    if stamp is None:
        return f"Assay report {run}"
    return f"{stamp.title}, report {run} of project {fmt.short_hash(stamp.sha256)}, by Assay"


def _cite(report: str, lead: Verdict, entry: Claim | Audit, claimed: str, text: VerdictText) -> str:
    """Return one line to quote a verdict by."""
    stands = text.status.word
    if text.instead_of:
        stands += f", were that the {text.instead_of} that the source names"
    figures = f"claimed {claimed}"
    if text.gpu:
        figures += f", measured {text.measured}{f' {text.interval}' if text.interval else ''}"
        figures += f" on {text.gpu}"
    day = f", {lead.measured_on.recorded_at[:10]}" if lead.measured_on else ""
    return (
        f"{report}{day}, claim {lead.claim} (source {lead.source}, "
        f"{entry.place.spot}): {figures}: {stands}."
    )


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
        yield Fact("margin", fmt.percent(verdict.margin))
    if verdict.noise_floor is not None:
        yield Fact("same binary against itself", f"within {fmt.percent(verdict.noise_floor)}")
    if verdict.samples is not None:
        discarded = verdict.discarded_blocks or 0
        yield Fact("samples", f"{verdict.samples}, {counted(discarded, 'block')} discarded")
    if verdict.roofline_fraction is not None:
        yield Fact("of the roofline bound", fmt.percent(verdict.roofline_fraction))
    if verdict.binary_sha256:
        yield Fact("binary", fmt.short_hash(verdict.binary_sha256))
