"""The claims' part of the report: verdicts as rows and pictures, commands as published."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import program_path
from assay.judging import cutlass_output as programs
from assay.records.claims import Audit, Claim, Invocation, Program, Relation
from assay.records.measurements import ProgramRecord
from assay.records.verdicts import Verdict
from assay.report import figures
from assay.report import formatting as fmt
from assay.shared.counting import counted

RELATIONS = {Relation.EQUALS.value: "", Relation.AT_LEAST.value: "≥ ", Relation.AT_MOST.value: "≤ "}


@dataclass(frozen=True)
class Link:
    """A link to a record inside the report."""

    text: str
    href: str


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
    reason: str | None
    artifact: str
    explanation: str
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


@dataclass(frozen=True)
class CommandRow:
    """One program with one list of arguments on one target."""

    target: str
    title: str
    command: str
    roles: tuple[str, ...]
    ran: str
    stated: str | None
    agrees: str | None
    """``yes`` or ``no``: whether the reported shape is the stated one; None without either."""
    figures: tuple[Fact, ...]
    runs: str
    link: Link | None


def link(path: str) -> Link:
    """A link to a file of the report by its path."""
    return Link(fmt.link_text(path), fmt.href(path))


def source_sections(
    catalog: Catalog, sources: Iterable[str], verdicts: Sequence[Verdict]
) -> tuple[SourceSection, ...]:
    """One section a source, in the order of the plan, verdicts in the order of the judge."""
    sections = []
    for source in sources:
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
                rows=tuple(_row(catalog, v) for v in own if not _is_arithmetic(v)),
                arithmetic=tuple(_row(catalog, v) for v in own if _is_arithmetic(v)),
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
    """A gain in per cent as the ratio it means; other figures as they are."""
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


def _row(catalog: Catalog, verdict: Verdict) -> VerdictRow:
    entry = _entry(catalog, verdict)
    claim = entry if isinstance(entry, Claim) else None
    return VerdictRow(
        claim=verdict.claim,
        statement=entry.statement,
        place=f"{entry.place.section}, line {entry.place.line}",
        target=verdict.target or "",
        claimed=_claimed(catalog, verdict),
        measured=fmt.quantity(verdict.measured, verdict.unit),
        interval=fmt.interval(verdict.ci90),
        status=verdict.status.value,
        word=verdict.status.word,
        reason=fmt.words(verdict.reason) if verdict.reason else None,
        artifact=verdict.artifact or "",
        explanation=verdict.explanation,
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


def command_rows(catalog: Catalog, evidence: Evidence) -> tuple[CommandRow, ...]:
    """Every program run that a claim of the plan calls for: what was typed, what really ran."""
    wanted: dict[str, tuple[str, tuple[str, ...]]] = {}
    roles: dict[str, dict[str, list[str]]] = {}
    stated: dict[str, list[Invocation]] = {}
    for claim in catalog.claims_of(evidence.plan.sources):
        evaluation = claim.evaluation
        if not isinstance(evaluation, Program):
            continue
        for arguments, role in (
            (evaluation.typed, "as typed"),
            (evaluation.stated.arguments, "as stated"),
        ):
            if arguments is not None:
                job = programs.job_id(evaluation.program, arguments)
                wanted[job] = (evaluation.program, arguments)
                roles.setdefault(job, {}).setdefault(role, []).append(claim.id)
                stated.setdefault(job, []).append(evaluation.stated)
    rows = []
    for job, started in wanted.items():
        measured: list[tuple[str, ProgramRecord | None]] = [
            (target, record) for (target, name), record in evidence.programs.items() if name == job
        ]
        for target, record in measured or [("", None)]:
            rows.append(
                _command_row(catalog, target, job, started, roles[job], stated[job], record)
            )
    return tuple(rows)


def _command_row(
    catalog: Catalog,
    target: str,
    job: str,
    started: tuple[str, tuple[str, ...]],
    roles: Mapping[str, Sequence[str]],
    stated: Sequence[Invocation],
    record: ProgramRecord | None,
) -> CommandRow:
    program, arguments = started
    described = catalog.programs[program]
    shapes = [dict(invocation.shape) for invocation in stated]
    ran: str = "not run here"
    agrees: str | None = None
    printed: Mapping[str, list[float]] = {}
    if record is not None:
        reported, printed, problems = _parse(catalog, record)
        ran = "; ".join([fmt.shape(shape) for shape in reported] + problems) or "nothing printed"
        if reported:
            same = all(_holds(shape, given) for shape in shapes for given in reported)
            agrees = "yes" if same else "no"
    return CommandRow(
        target=target,
        title=described.title,
        command=" ".join((described.source.rsplit("/", 1)[-1].removesuffix(".cu"), *arguments)),
        roles=tuple(f"{role}: {', '.join(claims)}" for role, claims in roles.items()),
        ran=ran,
        stated="; ".join(dict.fromkeys(fmt.shape(shape) for shape in shapes)) or None,
        agrees=agrees,
        figures=tuple(
            Fact(fmt.words(name), ", ".join(fmt.number(value) for value in values))
            for name, values in printed.items()
        ),
        runs=_runs(record),
        link=link(f"evidence/{program_path(target, job)}") if record else None,
    )


def _holds(stated: Mapping[str, int | bool], reported: Mapping[str, int | bool]) -> bool:
    return all(reported.get(key) == value for key, value in stated.items())


def _parse(
    catalog: Catalog, record: ProgramRecord
) -> tuple[list[programs.Shape], dict[str, list[float]], list[str]]:
    """Distinct shapes, every printed figure run by run, and what could not be read."""
    shapes: list[programs.Shape] = []
    values: dict[str, list[float]] = {}
    problems: list[str] = []
    for run in record.runs:
        try:
            parsed = programs.parse(catalog.programs[record.program].parser, run.stdout)
        except programs.MalformedOutput as error:
            problems.append(str(error))
            continue
        if parsed.shape not in shapes:
            shapes.append(parsed.shape)
        for name, value in parsed.figures.items():
            values.setdefault(name, []).append(value)
    return shapes, values, list(dict.fromkeys(problems))


def _runs(record: ProgramRecord | None) -> str:
    if record is None:
        return "none"
    failed = [run.exit_code for run in record.runs if run.exit_code != 0]
    text = f"{len(record.runs)}"
    return text + (f", {len(failed)} with exit code {failed[0]}" if failed else "")
