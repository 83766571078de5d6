"""Claims, audits and commands of a project, lowered to what Assay's own sources have."""

from collections.abc import Mapping
from typing import Any

from assay.base.strict_yaml import YamlPath
from assay.catalog.claim_documents import ProjectReading, placed
from assay.catalog.project_folder import PROJECT_FILE
from assay.records import projects
from assay.records.arithmetic import SourcePlace
from assay.records.claims import METRIC_UNITS, Audit, Claim, ClaimKind, ClaimText
from assay.records.evaluations import FlopFormula, Metric, NotRun
from assay.records.originals import OriginalSource, ReportedSize, TypedLine
from assay.records.units import Unit, no_unit, unit_as_written


def lower_claims(reading: ProjectReading, read: projects.ProjectDocument) -> dict[str, list[Claim]]:
    """Return the claims of each source."""
    found: dict[str, list[Claim]] = {}
    for at, entry in placed("claims", read.claims):
        called = f"claim '{entry.id}'"
        source = reading.source(at, called, entry.source)
        evaluation: Any = entry.evaluation
        if entry.answer is not None:
            evaluation = _evaluation(reading, at, called, entry, entry.answer, read)
        if source is None or evaluation is None:
            continue
        claim = reading.made(Claim, at, called, _plain_claim(entry, evaluation))
        if claim is not None:
            found.setdefault(source, []).append(claim)
    return found


def lower_audits(
    reading: ProjectReading, entries: tuple[projects.ProjectAudit, ...]
) -> dict[str, list[Audit]]:
    """Return the audits of each source."""
    found: dict[str, list[Audit]] = {}
    for at, entry in placed("audits", entries):
        source = reading.source(at, f"audit '{entry.id}'", entry.source)
        if source is not None:
            audit = Audit(**{name: getattr(entry, name) for name in Audit.model_fields})
            found.setdefault(source, []).append(audit)
    return found


def _evaluation(
    reading: ProjectReading,
    at: YamlPath,
    called: str,
    entry: projects.ProjectClaim,
    answer: projects.ShortAnswer,
    read: projects.ProjectDocument,
) -> dict[str, Any] | None:
    """Return what an answer in short stands for; None, noted, where it names what there is not."""
    at = (*at, "answer")
    for noun, name, entries in (
        ("measurement", answer.measurement, read.measurements),
        ("command", answer.command, read.commands),
    ):
        known, says = {each.id for each in entries}, f"{called}: there is no {noun}"
        if name is not None and not reading.knows((*at, noun), says, name, known):
            return None
    if answer.command is not None:
        detail = f"The project's command '{answer.command}' prints it, and runs where its GPU is."
        return {"kind": "unanswerable", "reason": NotRun.ORIGINAL_UNAVAILABLE, "detail": detail}
    unit = unit_as_written(entry.unit) if entry.unit else None
    own = next((each.arms for each in read.measurements if each.id == answer.measurement), {})
    arm, over = answer.arm or next(iter(own), None), answer.over
    if over is None and unit in METRIC_UNITS[Metric.TIME_RATIO] and len(own) == 2:
        over = next(each for each in own if each != arm)
    metric = answer.metric or _metric(unit)
    says, where = "", at
    if metric is None and entry.unit is None:
        where = (*at[:-1], "value")
        says = "what is measured has a value with its unit, such as 610 TFLOP/s, 0.5 ms or 1.2x"
    elif metric is None:
        says = f"what is measured has a unit: {entry.unit} is no rate, time or ratio"
    elif metric in (Metric.RATE_RATIO, Metric.TIME_RATIO) and over in (None, arm):
        says = "a ratio is of two arms: say which it is held against (over)"
    if says:
        reading.refuse(where, f"{called}: {says}")
        return None
    term = {"comparison": answer.measurement or answer.comparison, "arm": arm, "over": over}
    return {"kind": "benchmark", "metric": metric, "terms": (term,)}


def _metric(unit: Unit | None) -> Metric | None:
    """Return what is read off a benchmark for a figure in a unit; a ratio is one of times."""
    order = (Metric.RATE, Metric.TIME, Metric.BANDWIDTH, Metric.TIME_RATIO)
    return next((metric for metric in order if unit in METRIC_UNITS[metric]), None)


def _plain_claim(entry: projects.ProjectClaim, evaluation: Any) -> dict[str, Any]:
    """Return a claim as Assay's own are written, what follows from the rest filled in."""
    unit = unit_as_written(entry.unit) if entry.unit else None
    uncounted = unit in METRIC_UNITS[Metric.RATE] and entry.flops is None
    kept = {name: getattr(entry, name) for name in ClaimText.model_fields}
    targets = (entry.target,) if isinstance(entry.target, str) else entry.target or ()
    hardware: Any = entry.hardware or {
        "target": targets[0] if targets else None,
        "as_stated": None,
        "also": tuple(targets[1:]),
    }
    kind = ClaimKind.RATIO if unit in METRIC_UNITS[Metric.TIME_RATIO] else ClaimKind.MEASUREMENT
    return {
        **kept,
        "kind": entry.kind or (kind if unit else ClaimKind.SUPPORT),
        "value": entry.value,
        "resolution": entry.resolution,
        "unit": unit,
        "hardware": hardware,
        "flop_formula": entry.flop_formula or (FlopFormula.UNSTATED if uncounted else None),
        "evaluation": evaluation,
    }


Asked = tuple[YamlPath, projects.ProjectClaim, projects.ShortAnswer]
"""A claim that a command answers, where it stands, and its answer."""


def lower_commands(
    reading: ProjectReading, read: projects.ProjectDocument, claims: dict[str, list[Claim]]
) -> dict[str, list[OriginalSource]]:
    """Return the commands of each source, with the figures that claims ask for."""
    found: dict[str, list[OriginalSource]] = {}
    asked: dict[str, list[Asked]] = {}
    for at, claim in placed("claims", read.claims):
        if claim.answer is not None and claim.answer.command is not None:
            asked.setdefault(claim.answer.command, []).append((at, claim, claim.answer))
    lowered = {claim.id: claim for each in claims.values() for claim in each}
    for at, entry in placed("commands", read.commands):
        called = f"command '{entry.id}'"
        source = reading.source(at, called, entry.source)
        theirs = [each for each in asked.get(entry.id, []) if each[1].id in lowered]
        if entry.id not in asked:
            says = "no claim is answered by it: name it in an answer, or leave it out"
            reading.refuse(at, f"{called}: {says}")
        for each in theirs:
            _check_figure(reading, each, lowered[each[1].id])
        if reading.problems or source is None:
            continue
        content = _content(entry, theirs, lowered, reading.document.places.line(at))
        if (original := reading.made(OriginalSource, at, called, content)) is not None:
            found.setdefault(source, []).append(original)
    return found


def _content(
    entry: projects.ProjectCommand, asked: list[Asked], lowered: Mapping[str, Claim], line: int
) -> dict[str, Any]:
    place = SourcePlace(section=PROJECT_FILE, line=line)
    figures = (
        {
            "claim": claim.id,
            "pattern": answer.reads,
            "unit": unit_as_written(answer.unit) if answer.unit else lowered[claim.id].unit,
            "take": answer.take,
        }
        for _, claim, answer in asked
    )
    return {
        "id": entry.id,
        "file": None,
        "place": place,
        "directory": entry.directory,
        "image": entry.image,
        **{
            name: None
            if (typed := getattr(entry, name)) is None
            else TypedLine(line=typed, place=place)
            for name in ("build", "run", "typed")
        },
        "figures": tuple(figures),
        "sizes": tuple(
            ReportedSize(name=name, pattern=size.reads, equals=size.equals)
            for name, size in entry.sizes.items()
        ),
    }


def _check_figure(reading: ProjectReading, asked: Asked, claim: Claim) -> None:
    at, _, answer = asked
    here, called = (*at, "answer"), f"claim '{claim.id}'"
    if claim.unit is None:
        says = "its program prints rates, times and ratios, and its unit is none"
        reading.refuse(here, f"{called}: {says}")
    elif answer.unit is not None and unit_as_written(answer.unit) is None:
        reading.refuse((*here, "unit"), f"{called}: {no_unit(answer.unit)}")
