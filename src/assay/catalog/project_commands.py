"""Commands of a project, lowered to what runs as a source's own program does."""

from collections.abc import Mapping

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
        if not _units_fit(reading, claims, entry.id, theirs):
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


def _units_fit(
    reading: ProjectReading,
    claims: list[tuple[YamlPath, ProjectClaim]],
    command: str,
    theirs: Mapping[str, Claim],
) -> bool:
    """Note claims of a command whose unit no printed figure has, and return whether none is such:
    a rate, a time or a ratio is printed, in a unit of the claim's kind.
    """
    before = len(reading.problems)
    for at, claim in claims:
        if claim.answer is None or claim.answer.command != command:
            continue
        called, wanted = f"claim '{claim.id}'", theirs[claim.id].unit
        if wanted is None or wanted.facts.base is None:
            says = f"{called}: a command prints rates, times and ratios, and its unit is "
            reading.refuse((*at, "answer"), f"{says}{claim.unit or 'none'}")
            continue
        printed = unit_as_written(claim.answer.unit) if claim.answer.unit else wanted
        if printed is not None and printed.base is not wanted.base:
            says = f"{called}: is in {wanted.value}, and the command prints {claim.answer.unit}"
            reading.refuse((*at, "answer", "unit"), says)
    return len(reading.problems) == before


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
