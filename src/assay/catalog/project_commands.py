"""Commands of a project, lowered to what runs as a source's own program does."""

from collections.abc import Mapping

from assay.base.strict_yaml import YamlPath
from assay.base.yaml_problems import suggest
from assay.catalog.as_written import unit_meant
from assay.catalog.project_folder import PROJECT_FILE
from assay.catalog.project_reading import ProjectReading
from assay.records.arithmetic import SourcePlace
from assay.records.claims import Claim
from assay.records.originals import OriginalSource, ReportedSize, TypedLine
from assay.records.projects import ProjectClaim, ProjectCommand, ShortAnswer, StatedSize
from assay.records.units import Unit, unit_as_written


def lower_commands(
    reading: ProjectReading,
    entries: list[tuple[YamlPath, ProjectCommand]],
    claims: list[tuple[YamlPath, ProjectClaim]],
    made: dict[str, list[Claim]],
) -> dict[str, list[OriginalSource]]:
    """Return the commands of each source, with the figures that claims ask for."""
    found: dict[str, list[OriginalSource]] = {}
    for at, entry in entries:
        called = f"command '{entry.id}'"
        source = reading.source(at, called, entry.source)
        names_fit = _names_fit(reading, at, entry)
        asked = [
            (claim, claim.answer)
            for _, claim in claims
            if claim.answer is not None and claim.answer.command == entry.id
        ]
        if source is None:
            continue
        if not asked:
            if not reading.is_asked(entry.id):  # else what is wrong is said at the claim
                says = (
                    f"{called}: no claim is answered by it: name it in an answer, or leave it out"
                )
                reading.refuse(at, says)
            continue
        theirs = {claim.id: claim for claim in made.get(source, ())}
        others = {claim.id for of, each in made.items() if of != source for claim in each}
        if foreign := [claim.id for claim, _ in asked if claim.id in others]:
            says = f"{called}: claim '{foreign[0]}' is not one of source '{source}'"
            reading.refuse(at, says)
            continue
        asked = [(claim, answer) for claim, answer in asked if claim.id in theirs]
        if not (
            names_fit
            and _are_printed(reading, claims, entry)
            and _units_fit(reading, claims, entry, theirs)
        ):
            continue
        line = reading.document.places.line(at)
        place = SourcePlace(section=PROJECT_FILE, line=line)
        figures = tuple(
            {
                "claim": claim.id,
                "pattern": _pattern(entry, answer),
                "unit": _printed_unit(entry, answer, theirs[claim.id]),
                "take": answer.take,
            }
            for claim, answer in asked
        )
        if not figures:
            continue
        content = {
            "id": entry.id,
            "file": None,
            "place": place,
            "directory": entry.directory,
            "image": entry.image,
            "build": None if entry.build is None else TypedLine(line=entry.build, place=place),
            "run": TypedLine(line=entry.run, place=place),
            "typed": None if entry.typed is None else TypedLine(line=entry.typed, place=place),
            "figures": figures,
            "sizes": tuple(_size(entry, name, size) for name, size in entry.sizes.items()),
        }
        if (original := reading.made(OriginalSource, at, called, content)) is not None:
            found.setdefault(source, []).append(original)
    return found


def _size(command: ProjectCommand, name: str, size: StatedSize | float) -> ReportedSize:
    if isinstance(size, StatedSize):
        return ReportedSize(name=name, pattern=size.reads, equals=size.equals)
    found = command.reader_of(name)
    assert found is not None  # which the command's record requires
    return ReportedSize(name=name, pattern=found[0], equals=size)


def _pattern(command: ProjectCommand, answer: ShortAnswer) -> str | None:
    named = command.reader_of(answer.figure) if answer.figure else None
    return named[0] if named else answer.reads


def _names_fit(reading: ProjectReading, at: YamlPath, command: ProjectCommand) -> bool:
    """Note names that are printed twice or not at all, and units that are none; return whether
    there are no such.
    """
    before = len(reading.problems)
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
    return len(reading.problems) == before


def _are_printed(
    reading: ProjectReading, claims: list[tuple[YamlPath, ProjectClaim]], command: ProjectCommand
) -> bool:
    """Note claims that name a figure which a command does not print, and units that are none;
    return whether there are no such.
    """
    before = len(reading.problems)
    for at, claim in claims:
        answer = claim.answer
        if answer is None or answer.command != command.id:
            continue
        called, here = f"claim '{claim.id}'", (*at, "answer")
        if answer.figure is not None and answer.figure not in command.named:
            meant = suggest(answer.figure, command.named)
            says = f"{called}: command '{command.id}' prints no '{answer.figure}'{meant}"
            reading.refuse((*here, "figure"), says)
        if answer.unit is not None and unit_as_written(answer.unit) is None:
            says = f"{called}: unit: '{answer.unit}' is none{unit_meant(answer.unit)}"
            reading.refuse((*here, "unit"), says)
    return len(reading.problems) == before


def _units_fit(
    reading: ProjectReading,
    claims: list[tuple[YamlPath, ProjectClaim]],
    command: ProjectCommand,
    theirs: Mapping[str, Claim],
) -> bool:
    """Note claims of a command whose unit no printed figure has, and return whether none is such:
    a rate, a time or a ratio is printed, in a unit of the claim's kind.
    """
    before = len(reading.problems)
    for at, claim in claims:
        if claim.answer is None or claim.answer.command != command.id or claim.id not in theirs:
            continue
        called, wanted = f"claim '{claim.id}'", theirs[claim.id].unit
        if wanted is None or wanted.facts.base is None:
            says = f"{called}: a command prints rates, times and ratios, and its unit is "
            reading.refuse((*at, "answer"), f"{says}{claim.unit or 'none'}")
            continue
        printed = _printed_unit(command, claim.answer, theirs[claim.id])
        if printed is not None and printed.base is not wanted.base:
            typed = _unit_typed(command, claim.answer)
            says = f"{called}: is in {wanted.typed}, and the command prints {typed}"
            reading.refuse((*at, "answer", "unit"), says)
    return len(reading.problems) == before


def _printed_unit(command: ProjectCommand, answer: ShortAnswer, claim: Claim) -> Unit | None:
    """Return the unit of what is printed: that of the named figure, or else the answer's own, or
    else the claim's.
    """
    typed = _unit_typed(command, answer)
    return unit_as_written(typed) if typed else claim.unit


def _unit_typed(command: ProjectCommand, answer: ShortAnswer) -> str | None:
    named = command.reader_of(answer.figure) if answer.figure else None
    return named[1] if named else answer.unit
