"""Commands of a project, lowered to what runs as a source's own program does."""

from collections.abc import Mapping
from typing import Any

from assay.base.strict_yaml import YamlPath
from assay.base.yaml_problems import suggest
from assay.catalog.claim_documents import unit_meant
from assay.catalog.project_folder import PROJECT_FILE
from assay.catalog.project_reading import ProjectReading, placed
from assay.records.arithmetic import SourcePlace
from assay.records.claims import Claim
from assay.records.originals import OriginalSource, ReportedSize, TypedLine
from assay.records.projects import (
    ProjectClaim,
    ProjectCommand,
    ProjectDocument,
    ShortAnswer,
    StatedSize,
)
from assay.records.units import Unit, unit_as_written

Asked = tuple[YamlPath, ProjectClaim, ShortAnswer]
"""A claim that a command answers, where it stands, and its answer."""


def lower_commands(
    reading: ProjectReading, read: ProjectDocument, claims: dict[str, list[Claim]]
) -> dict[str, list[OriginalSource]]:
    """Return the commands of each source, with the figures that claims ask for."""
    found: dict[str, list[OriginalSource]] = {}
    asked: dict[str, list[Asked]] = {}
    for at, claim in placed("claims", read.claims):
        if claim.answer is not None and claim.answer.command is not None:
            asked.setdefault(claim.answer.command, []).append((at, claim, claim.answer))
    source_of = {claim.id: source for source, each in claims.items() for claim in each}
    lowered = {claim.id: claim for each in claims.values() for claim in each}
    for at, entry in placed("commands", read.commands):
        called = f"command '{entry.id}'"
        source = reading.source(at, called, entry.source)
        _check_names(reading, at, entry)
        theirs = [each for each in asked.get(entry.id, []) if each[1].id in lowered]
        if entry.id not in asked:
            says = "no claim is answered by it: name it in an answer, or leave it out"
            reading.refuse(at, f"{called}: {says}")
        for each in theirs:
            if source_of[each[1].id] != source:
                says = f"{called}: claim '{each[1].id}' is not one of source '{source}'"
                reading.refuse(at, says)
            _check_figure(reading, entry, each, lowered[each[1].id])
        if reading.problems or source is None:
            continue
        content = _content(entry, theirs, lowered, reading.document.places.line(at))
        if (original := reading.made(OriginalSource, at, called, content)) is not None:
            found.setdefault(source, []).append(original)
    return found


def _content(
    entry: ProjectCommand, asked: list[Asked], lowered: Mapping[str, Claim], line: int
) -> dict[str, Any]:
    place = SourcePlace(section=PROJECT_FILE, line=line)
    figures = (
        {
            "claim": claim.id,
            "pattern": _reader(entry, answer)[0],
            "unit": _printed_unit(entry, answer, lowered[claim.id]),
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
        "sizes": tuple(_size(entry, name, size) for name, size in entry.sizes.items()),
    }


def _size(command: ProjectCommand, name: str, size: StatedSize | float) -> ReportedSize:
    if isinstance(size, StatedSize):
        return ReportedSize(name=name, pattern=size.reads, equals=size.equals)
    found = command.reader_of(name)
    assert found is not None  # what prints has no name of is refused before
    return ReportedSize(name=name, pattern=found[0], equals=size)


def _reader(command: ProjectCommand, answer: ShortAnswer) -> tuple[str | None, str | None]:
    """Return what finds an answer's figure, and the unit that is typed of it."""
    named = command.reader_of(answer.figure) if answer.figure else None
    return named or (answer.reads, answer.unit)


def _printed_unit(command: ProjectCommand, answer: ShortAnswer, claim: Claim) -> Unit | None:
    """Return the unit of what is printed: by default the claim's."""
    typed = _reader(command, answer)[1]
    return unit_as_written(typed) if typed else claim.unit


def _check_names(reading: ProjectReading, at: YamlPath, command: ProjectCommand) -> None:
    """Note names that are printed twice or not at all, and units that are none."""
    called, seen = f"command '{command.id}'", set[str]()
    for number, entry in enumerate(command.prints):
        for name, unit in entry.units.items():
            here = (*at, "prints", number, "units", name)
            if name in seen:
                reading.refuse(here, f"{called}: prints: '{name}' is named twice")
            seen.add(name)
            if unit_as_written(unit) is None:
                says = f"{called}: prints: {name}: '{unit}' is no unit{unit_meant(unit)}"
                reading.refuse(here, says)
    for name, size in command.sizes.items():
        if not isinstance(size, StatedSize) and name not in seen:
            says = f"{called}: sizes: prints has no '{name}'{suggest(name, seen)}"
            reading.refuse((*at, "sizes", name), says)


def _check_figure(
    reading: ProjectReading, command: ProjectCommand, asked: Asked, claim: Claim
) -> None:
    """Note a claim whose figure, or a unit that fits it, the command does not print: rates, times
    and ratios are printed, in a unit of the claim's kind.
    """
    at, typed, answer = asked
    here, called = (*at, "answer"), f"claim '{claim.id}'"
    if answer.figure is not None and answer.figure not in command.named:
        meant = suggest(answer.figure, command.named)
        says = f"{called}: command '{command.id}' prints no '{answer.figure}'{meant}"
        reading.refuse((*here, "figure"), says)
    elif answer.unit is not None and unit_as_written(answer.unit) is None:
        says = f"{called}: unit: '{answer.unit}' is none{unit_meant(answer.unit)}"
        reading.refuse((*here, "unit"), says)
    elif claim.unit is None or claim.unit.facts.base is None:
        says = f"{called}: a command prints rates, times and ratios, and its unit is "
        reading.refuse(here, f"{says}{typed.unit or 'none'}")
    elif (printed := _printed_unit(command, answer, claim)) and printed.base is not claim.unit.base:
        says = f"{called}: is in {claim.unit.typed}, and the command prints {printed.typed}"
        reading.refuse((*here, "unit"), says)
