"""Claims and audits of a project, lowered to those that Assay's own sources have."""

from typing import Any

from assay.base.strict_yaml import YamlPath
from assay.base.yaml_problems import suggest
from assay.catalog.project_reading import ProjectReading, placed
from assay.records.claims import METRIC_UNITS, Audit, Claim, ClaimKind
from assay.records.evaluations import Metric, NotRun
from assay.records.projects import ProjectAudit, ProjectClaim, ProjectDocument, ShortAnswer
from assay.records.readings import FlopFormula
from assay.records.units import Unit, unit_as_written


def lower_claims(reading: ProjectReading, read: ProjectDocument) -> dict[str, list[Claim]]:
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
    reading: ProjectReading, entries: tuple[ProjectAudit, ...]
) -> dict[str, list[Audit]]:
    """Return the audits of each source."""
    found: dict[str, list[Audit]] = {}
    for at, entry in placed("audits", entries):
        source = reading.source(at, f"audit '{entry.id}'", entry.source)
        kept = {name: getattr(entry, name) for name in Audit.model_fields if name != "place"}
        content = {**kept, "place": entry.place}
        audit = reading.made(Audit, at, f"audit '{entry.id}'", content)
        if source is not None and audit is not None:
            found.setdefault(source, []).append(audit)
    return found


def _evaluation(
    reading: ProjectReading,
    at: YamlPath,
    called: str,
    entry: ProjectClaim,
    answer: ShortAnswer,
    read: ProjectDocument,
) -> dict[str, Any] | None:
    """Return what an answer in short stands for; None where it names what there is not."""
    at = (*at, "answer")
    if answer.command is not None:
        return _by_command(reading, at, called, answer.command, read)
    unit = unit_as_written(entry.unit) if entry.unit else None
    term: tuple[str, str | None, str | None] | None
    term = answer.comparison or "", answer.arm, answer.over
    if answer.measurement is not None:
        term = _arms(reading, at, called, answer, read, unit)
    if term is None:
        return None
    comparison, arm, over = term
    metric = answer.metric or _metric(unit)
    says, where = None, at
    if metric is None:
        says = f"what is measured has a unit: {entry.unit} is no rate, time or ratio"
        if entry.unit is None:
            where = (*at[:-1], "value")
            says = "what is measured has a value with its unit, such as 610 TFLOP/s, 0.5 ms or 1.2x"
    elif metric in (Metric.RATE_RATIO, Metric.TIME_RATIO) and over is None:
        says = "a ratio is of two arms: say which it is held against (over)"
    if says is not None:
        reading.refuse(where, f"{called}: {says}")
        return None
    found = {"comparison": comparison, "arm": arm, "over": over}
    return {"kind": "benchmark", "metric": metric, "terms": (found,)}


def _arms(
    reading: ProjectReading,
    at: YamlPath,
    called: str,
    answer: ShortAnswer,
    read: ProjectDocument,
    unit: Unit | None,
) -> tuple[str, str | None, str | None] | None:
    """Return comparison, arm and the arm it is held against; None where there is no such thing."""
    known, name = {each.id: each for each in read.measurements}, answer.measurement or ""
    if name not in known:
        says = f"there is no measurement '{name}'{suggest(name, known)}"
        reading.refuse((*at, "measurement"), f"{called}: {says}")
        return None
    arms = list(known[name].arms)
    arm, over = answer.arm or arms[0], answer.over
    if over is None and unit in METRIC_UNITS[Metric.TIME_RATIO] and len(arms) == 2:
        over = next(each for each in arms if each != arm)
    before = len(reading.problems)
    for key, each in (("arm", arm), ("over", over)):
        if each is not None and each not in arms:
            meant = suggest(each, arms)
            reading.refuse((*at, key), f"{called}: '{name}' has no arm '{each}'{meant}")
    if over == arm:
        reading.refuse((*at, "over"), f"{called}: over: '{arm}' is held against itself")
    return None if len(reading.problems) > before else (name, arm, over)


def _by_command(
    reading: ProjectReading, at: YamlPath, called: str, command: str, read: ProjectDocument
) -> dict[str, Any] | None:
    known = {each.id for each in read.commands}
    if command not in known:
        says = f"{called}: there is no command '{command}'{suggest(command, known)}"
        reading.refuse((*at, "command"), says)
        return None
    detail = f"The project's command '{command}' prints it, and runs where its GPU is."
    return {"kind": "unanswerable", "reason": NotRun.ORIGINAL_UNAVAILABLE, "detail": detail}


def _metric(unit: Unit | None) -> Metric | None:
    """Return what is read off a benchmark for a figure in a unit; a ratio is one of times."""
    order = (Metric.RATE, Metric.TIME, Metric.BANDWIDTH, Metric.TIME_RATIO)
    return next((metric for metric in order if unit in METRIC_UNITS[metric]), None)


def _plain_claim(entry: ProjectClaim, evaluation: Any) -> dict[str, Any]:
    """Return a claim as Assay's own are written, what follows from the rest filled in."""
    unit = unit_as_written(entry.unit) if entry.unit else None
    rate = unit is not None and unit in METRIC_UNITS[Metric.RATE]
    kept = {
        name: getattr(entry, name)
        for name in (
            "id", "statement", "value", "resolution", "decimals", "computed", "relation",
            "configuration", "software", "command", "flops", "unstated", "note", "sentence",
        )
    }  # fmt: skip
    targets = (entry.target,) if isinstance(entry.target, str) else entry.target or ()
    hardware: Any = entry.hardware or {
        "target": targets[0] if targets else None,
        "as_stated": None,
        "also": tuple(targets[1:]),
    }
    return {
        **kept,
        "kind": entry.kind or _kind(unit),
        "place": entry.place,
        "unit": unit,
        "hardware": hardware,
        "flop_formula": entry.flop_formula or (FlopFormula.UNSTATED if rate else None),
        "evaluation": evaluation,
    }


def _kind(unit: Unit | None) -> ClaimKind:
    if unit is None:
        return ClaimKind.SUPPORT
    return ClaimKind.RATIO if unit in METRIC_UNITS[Metric.TIME_RATIO] else ClaimKind.MEASUREMENT
