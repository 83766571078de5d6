"""Commands of a project, lowered to what runs as a source's own program does."""

from assay.base.strict_yaml import YamlPath
from assay.base.yaml_problems import suggest
from assay.catalog.project_folder import PROJECT_FILE
from assay.catalog.project_reading import ProjectReading
from assay.records.arithmetic import SourcePlace
from assay.records.claims import Claim
from assay.records.originals import OriginalSource, ReportedSize, TypedLine
from assay.records.projects import ProjectClaim, ProjectCommand, ShortAnswer
from assay.records.units import SPELLINGS, Unit, unit_as_written


def lower_commands(
    reading: ProjectReading,
    entries: list[tuple[YamlPath, ProjectCommand]],
    claims: list[tuple[YamlPath, ProjectClaim]],
    made: dict[str, list[Claim]],
) -> dict[str, OriginalSource]:
    """Return the command of each source that has one, with the figures that claims ask for."""
    found: dict[str, OriginalSource] = {}
    for at, entry in entries:
        called = f"command '{entry.id}'"
        source = reading.source(at, called, entry.source)
        asked = [
            (claim, claim.answer)
            for _, claim in claims
            if claim.answer is not None and claim.answer.command == entry.id
        ]
        if source is None:
            continue
        if not asked:
            reading.refuse(at, f"{called}: no claim is answered by it")
            continue
        if source in found:
            says = f"{called}: source '{source}' has one already: give it a source of its own"
            reading.refuse(at, says)
            continue
        theirs = {claim.id: claim for claim in made.get(source, ())}
        if foreign := [claim.id for claim, _ in asked if claim.id not in theirs]:
            says = f"{called}: claim '{foreign[0]}' is not one of source '{source}'"
            reading.refuse(at, says)
            continue
        line = reading.document.places.line(at)
        place = SourcePlace(section=PROJECT_FILE, line=line)
        figures = tuple(
            {
                "claim": claim.id,
                "pattern": answer.reads,
                "unit": _printed_unit(reading, at, called, answer, theirs[claim.id]),
                "take": answer.take,
            }
            for claim, answer in asked
        )
        content = {
            "id": entry.id,
            "file": None,
            "place": place,
            "directory": entry.directory,
            "build": None if entry.build is None else TypedLine(line=entry.build, place=place),
            "run": TypedLine(line=entry.run, place=place),
            "figures": figures,
            "sizes": tuple(
                ReportedSize(name=name, pattern=size.reads, equals=size.equals)
                for name, size in entry.sizes.items()
            ),
        }
        if (original := reading.made(OriginalSource, at, called, content)) is not None:
            found[source] = original
    return found


def _printed_unit(
    reading: ProjectReading, at: YamlPath, called: str, answer: ShortAnswer, claim: Claim
) -> Unit | None:
    if answer.unit is None:
        return claim.unit
    unit = unit_as_written(answer.unit)
    if unit is None:
        meant = suggest(answer.unit.lower(), SPELLINGS)
        reading.refuse(at, f"{called}: unit: '{answer.unit}' is none{meant}")
        return claim.unit
    return unit
