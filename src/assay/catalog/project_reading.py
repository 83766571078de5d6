"""One assay.yaml on its way to records: its entries with their places, and what is wrong."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from assay.base.strict_yaml import YamlPath
from assay.base.yaml_problems import PlacedYaml, YamlProblem, suggest
from assay.records.base import Record

R = TypeVar("R", bound=Record)


@dataclass
class ProjectReading:
    """One document, what was found wrong with it, and the lines of its entries."""

    folder: Path
    document: PlacedYaml
    sources: tuple[str, ...] = ()
    """Ids of its sources."""
    problems: list[YamlProblem] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)

    def require_ids(self, entries: Mapping[str, tuple[Any, ...]]) -> None:
        """Note where entries stand, and ids given twice; claims and audits share theirs."""
        kinds = (("sources",), ("targets",), ("measurements", "commands"), ("claims", "audits"))
        for names in kinds:
            seen: dict[str, int] = {}
            for name in names:
                for at, entry in placed(name, entries[name]):
                    line = self.document.places.line(at)
                    if entry.id in seen:
                        says = f"id '{entry.id}' is given twice (see line {seen[entry.id]})"
                        self.refuse(at, says)
                    seen.setdefault(entry.id, line)
                    self.lines.setdefault(entry.id, line)

    def note_lines(self, of: str, at: YamlPath, parts: Mapping[str, YamlPath]) -> None:
        """Note where parts of an entry stand, as ``of.part``."""
        for part, below in parts.items():
            self.lines[f"{of}.{part}"] = self.document.places.line((*at, *below))

    def refuse(self, at: YamlPath, says: str) -> None:
        """Note what is wrong at a place."""
        self.problems.append(self.document.problem(at, says))

    def made(self, model: type[R], at: YamlPath, called: str, content: dict[str, Any]) -> R | None:
        """Return a record of ``content``, or None where it does not fit; notes why not."""
        try:
            return model.model_validate(content)
        except ValidationError as error:
            for each in error.errors(include_url=False, include_input=False):
                message = each["msg"].removeprefix("Value error, ")
                where = ".".join(str(part) for part in each["loc"] if part != "evaluation")
                place = f"{where}: " if where else ""
                self.refuse(at, f"{called}: {place}{message[:1].lower()}{message[1:]}")
            return None

    def source(self, at: YamlPath, called: str, named: str | None) -> str | None:
        """Return the source that an entry is of; None where that is not told, or is none."""
        if named is None and len(self.sources) == 1:
            return self.sources[0]
        if named is None:
            listed = ", ".join(sorted(self.sources))
            self.refuse(at, f"{called}: says not which source it is of: {listed}")
        elif named not in self.sources:
            meant = suggest(named, sorted(self.sources))
            self.refuse((*at, "source"), f"{called}: there is no source '{named}'{meant}")
        else:
            return named
        return None


def placed(name: str, entries: tuple[R, ...]) -> Iterator[tuple[YamlPath, R]]:
    """Yield the entries of a list with their places in the document."""
    for number, entry in enumerate(entries):
        yield (name, number), entry
