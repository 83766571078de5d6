"""One assay.yaml on its way to records: its entries, and all that was found wrong with it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from assay.base.strict_yaml import YamlPath, YamlPlaces
from assay.base.yaml_problems import (
    PlacedYaml,
    YamlProblem,
    YamlProblems,
    beside,
    meant_by,
    read_part,
    suggest,
)
from assay.catalog.as_written import write_out
from assay.records.base import Record
from assay.records.projects import (
    Measurement,
    ProjectAudit,
    ProjectClaim,
    ProjectCommand,
    ProjectDocument,
    ProjectSource,
    ProjectTarget,
)

R = TypeVar("R", bound=Record)

PARTS: dict[str, type[Record]] = {
    "sources": ProjectSource,
    "targets": ProjectTarget,
    "measurements": Measurement,
    "commands": ProjectCommand,
    "claims": ProjectClaim,
    "audits": ProjectAudit,
}
"""Lists of the document; each entry is read by itself, so that all that is wrong is told at
once."""

NEEDED = frozenset({"id", "callable", "parameters", "arms"})
"""Keys without which nothing else of a measurement can be looked at."""
SOUND: dict[str, Any] = {
    "title": "", "dtype": "float16", "flops": "1", "bytes": "1", "relative_tolerance": 1.0,
}  # fmt: skip
"""Stands for what is wrong of a measurement."""


def with_meant_lists(document: PlacedYaml) -> tuple[PlacedYaml, list[YamlProblem]]:
    """Return a document whose misspelt lists stand under the names that are meant, and what is
    wrong with them: what is in them is then looked at, too.
    """
    value = document.value
    if not isinstance(value, dict):
        return document, []
    known, meant = ProjectDocument.model_json_schema()["properties"], dict[str, str]()
    for key, entry in value.items():
        absent = [name for name in PARTS if name not in value and name not in meant.values()]
        if key not in known and isinstance(entry, list) and (name := meant_by(key, absent)):
            meant[key] = name
    problems = [
        document.problem((key,), f"{key}: there is no such key: did you mean '{name}'?")
        for key, name in meant.items()
    ]
    places = YamlPlaces(
        {_renamed(path, meant): line for path, line in document.places.lines.items()},
        {_renamed(path, meant): typed for path, typed in document.places.typed.items()},
    )
    renamed = {meant.get(key, key): entry for key, entry in value.items()}
    return replace(document, value=renamed, places=places), problems


def _renamed(path: YamlPath, meant: Mapping[str, str]) -> YamlPath:
    return (meant.get(str(path[0]), path[0]), *path[1:]) if path else path


@dataclass
class ProjectReading:
    """One document, what was found wrong with it, and the lines of its entries."""

    folder: Path
    document: PlacedYaml
    problems: list[YamlProblem] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    mended: set[str] = field(default_factory=set)
    """Measurements that are wrong, and are looked at all the same."""
    _named: dict[tuple[str, ...], frozenset[str]] = field(default_factory=dict)

    def head(self) -> dict[str, Any]:
        """Return the document; it is checked with its lists left empty, their entries elsewhere."""
        value = self.document.value
        if not isinstance(value, dict):
            raise YamlProblems(
                self.document.path, [YamlProblem(1, "is no mapping: schema, sources, claims")]
            )
        for name in ("sources", "claims"):
            if name in value and value[name] in ([], None):
                self.refuse((name,), f"{name}: is empty, and there is nothing to judge")
        for name in PARTS:
            if not isinstance(value.get(name, []), list | type(None)):
                self.refuse((name,), f"{name}: is no list (each entry begins with '- ')")
        emptied = {
            key: [] if key in PARTS or (key == "files" and isinstance(entry, list)) else entry
            for key, entry in value.items()
        }
        _, found = read_part(ProjectDocument, emptied, self.document, ())
        # That lists which were emptied here are empty says nothing.
        self.problems += [
            each
            for each in found
            if not any(f"{name}: is empty: name" in each.says for name in PARTS)
        ]
        return value

    def entries(self, name: str) -> Iterator[tuple[YamlPath, Any]]:
        """Yield the well-formed entries of a list with their places; notes what the others lack."""
        entries = self.document.value.get(name)
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            at: YamlPath = (name, number)
            called = f"{name}[{number}]"
            if isinstance(entry, dict) and isinstance(entry.get("id"), str):
                called = f"{name.removesuffix('s')} '{entry['id']}'"
            value = entry
            if name == "claims" and isinstance(entry, dict):
                value, found = write_out(self.document, at)
            else:
                found = []
            self.problems += [YamlProblem(each.line, f"{called}: {each.says}") for each in found]
            record, problems = read_part(PARTS[name], value, self.document, at, called)
            self.problems += beside(found, problems)
            if record is None and name == "measurements":
                record = self._mended(value, at)
            if record is not None and not found:
                yield at, record

    def _mended(self, value: Any, at: YamlPath) -> Measurement | None:
        """Return a measurement with something sound in the place of each key that is wrong, noted
        as ``mended``, so that the others and its function are looked at; None where one of
        ``NEEDED`` is wrong.
        """
        if not isinstance(value, dict):
            return None
        try:
            Measurement.model_validate_json(json.dumps(value))
        except ValidationError as error:
            wrong = {str(each["loc"][0]) for each in error.errors() if each["loc"]}
            sound = {name: each for name, each in value.items() if name not in wrong}
            record, _ = read_part(Measurement, SOUND | sound, self.document, at)
            if record is not None and not wrong & NEEDED:
                self.mended.add(record.id)
                return record
        return None

    def require_ids(self, entries: Mapping[str, list[tuple[YamlPath, Any]]]) -> None:
        """Note ids that are given twice, and keep the first; claims and audits share theirs."""
        kinds = (("sources",), ("targets",), ("measurements", "commands"), ("claims", "audits"))
        for names in kinds:
            seen: dict[str, int] = {}
            for name in names:
                for at, entry in list(entries[name]):
                    line = self.document.places.line(at)
                    if entry.id in seen:
                        says = f"id '{entry.id}' is given twice (see line {seen[entry.id]})"
                        self.problems.append(YamlProblem(line, says))
                        entries[name].remove((at, entry))
                    seen.setdefault(entry.id, line)
                    self.lines.setdefault(entry.id, line)

    def named(self, *parts: str) -> frozenset[str]:
        """Return the ids of entries, those among them that are wrong in another way."""
        if parts not in self._named:
            ids = (entry.get("id") for part in parts for _, entry in self.raw(part))
            self._named[parts] = frozenset(each for each in ids if isinstance(each, str))
        return self._named[parts]

    def raw(self, name: str) -> Iterator[tuple[YamlPath, dict[str, Any]]]:
        """Yield the entries of a list that are mappings as they were typed, with their places."""
        entries = self.document.value.get(name)
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict):
                yield (name, number), entry

    def commands_named(self) -> frozenset[str]:
        """Return what claims, were they as wrong as they may be, name as commands."""
        found: set[str] = set()
        for _, each in self.raw("claims"):
            answer = each.get("answer")
            if isinstance(answer, dict):
                found.add(str(answer.get("command")))
        return frozenset(found)

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
        ids = sorted(self.named("sources"))
        if named is None and len(ids) == 1:
            return ids[0]
        if named is None:
            self.refuse(at, f"{called}: says not which source it is of: {', '.join(ids)}")
        elif named not in ids:
            meant = suggest(named, ids)
            self.refuse((*at, "source"), f"{called}: there is no source '{named}'{meant}")
        else:
            return named
        return None
