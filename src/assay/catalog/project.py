"""A project's ``assay.yaml``, read whole, and lowered to the records of Assay's configuration."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from assay.base.errors import BadInput
from assay.base.printable import shortened, shown_line
from assay.base.strict_yaml import YamlPath
from assay.base.yaml_problems import IN_WORDS, YamlProblem, read_placed_yaml, suggest
from assay.catalog.project_claims import lower_audits, lower_claims
from assay.catalog.project_commands import lower_commands
from assay.catalog.project_folder import (
    PROJECT_FILE,
    bounds_problem,
    code_by_name,
    digest_of,
    digests,
    file_problem,
    is_name,
)
from assay.catalog.project_measurements import lower_measurements
from assay.catalog.project_reading import PARTS, ProjectReading, with_meant_lists
from assay.records.base import PATH_PATTERN
from assay.records.claims import Audit, Claim, ClaimsFile, Source
from assay.records.kernels import Variant
from assay.records.originals import OriginalSource
from assay.records.projects import ProjectSource
from assay.records.targets import Target
from assay.records.workloads import Comparison, Workload

UNREAD = "0" * 64
"""In the place of the digest of a file that is not read: its project is refused."""
LONGEST_QUOTED = 80
"""Characters of what is no name of a file that a sentence quotes."""


@dataclass(frozen=True)
class NamedElsewhere:
    """What a claim that could not be lowered names of Assay's, or of the project's targets."""

    noun: Literal["target", "comparison"]
    name: str
    called: str
    line: int


@dataclass(frozen=True)
class Project:
    """What a project says, in the words of Assay's configuration."""

    folder: Path
    title: str
    sha256: str
    """Of all its files."""
    files: tuple[str, ...]
    """assay.yaml and its code, relative to its folder."""
    sources: dict[str, ClaimsFile]
    targets: dict[str, Target] = field(default_factory=dict)
    workloads: dict[str, Workload] = field(default_factory=dict)
    variants: dict[str, Variant] = field(default_factory=dict)
    comparisons: dict[str, Comparison] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    """Of each entry, by id, and of parts of it, by ``id.part``."""
    problems: tuple[YamlProblem, ...] = ()
    """All that is wrong; what is said above is of the rest."""
    named: frozenset[str] = frozenset()
    """Every id that the file gives, to an entry that is wrong, too."""
    mended: frozenset[str] = frozenset()
    """Measurements that are wrong, and are looked at all the same."""
    names: tuple[NamedElsewhere, ...] = ()
    """Of claims that are wrong; those of the others are looked at as references."""
    claim_texts: tuple[tuple[str, frozenset[str]], ...] = ()
    """Every text in each claim as typed, by its id ("" without one): what it may be answered by."""


def load_project(folder: Path) -> Project:
    """Read the project in ``folder``; what is wrong in it is in ``problems``, with lines.

    What its names refer to outside of it is looked at with the whole catalog. Raises BadInput for
    what is no YAML, or no mapping.
    """
    document, misspelt = with_meant_lists(read_placed_yaml(folder / PROJECT_FILE))
    return _lowered(ProjectReading(folder, document, misspelt))


def project_files(folder: Path) -> tuple[str, ...]:
    """Return assay.yaml and the code of the project in ``folder``. Raises BadInput."""
    return load_project(folder).files


def _lowered(reading: ProjectReading) -> Project:
    head = reading.head()
    entries = {name: list(reading.entries(name)) for name in PARTS}
    reading.require_ids(entries)
    files = _files(reading, head)
    for at, entry in entries["sources"]:
        reading.note_lines(entry.id, at, {"file": ("file",)})
    for at, entry in entries["claims"]:
        answer = "answer" if entry.answer is not None else "evaluation"
        target = "target" if entry.target is not None else "hardware"
        reading.note_lines(
            entry.id, at, {"answer": (answer,), "target": (target,), "resolution": ("resolution",)}
        )
    sources = [entry for _, entry in entries["sources"]]
    comparisons, variants, workloads = lower_measurements(reading, entries["measurements"], files)
    measured = {entry.id: entry for _, entry in entries["measurements"]}
    claims = lower_claims(reading, entries["claims"], measured)
    audits = lower_audits(reading, entries["audits"])
    commands = lower_commands(reading, entries["commands"], entries["claims"], claims)
    typed = {str(entry.get("source")) for _, entry in reading.raw("claims")}
    if len(sources) == 1 and typed:
        typed.add(sources[0].id)  # a claim need not say which
    for at, source in entries["sources"]:
        if typed and source.id not in claims and source.id not in typed:
            reading.refuse(at, f"source '{source.id}': no claim is of it")
    lowered = {claim.id for each in claims.values() for claim in each}
    return Project(
        folder=reading.folder,
        title=str(head.get("title") or ""),
        sha256=digest_of(files),
        files=tuple(sorted(files)),
        sources={
            source.id: _claims_file(
                source, claims[source.id], audits.get(source.id, []), commands.get(source.id, [])
            )
            for source in sources
            if source.id in claims
        },
        targets={
            entry.id: Target.model_validate(entry.model_dump(by_alias=True))
            for _, entry in entries["targets"]
        },
        workloads=workloads,
        variants=variants,
        comparisons=comparisons,
        lines=reading.lines,
        problems=tuple(reading.problems),
        named=reading.named(*PARTS),
        mended=frozenset(reading.mended),
        names=tuple(_names_in_wrong_claims(reading, lowered)),
        claim_texts=tuple(
            (str(entry.get("id", "")), frozenset(_texts(entry)))
            for _, entry in reading.raw("claims")
        ),
    )


def _names_in_wrong_claims(
    reading: ProjectReading, lowered: Collection[str]
) -> Iterator[NamedElsewhere]:
    """Yield what claims that could not be lowered name outside of their own lists."""
    keys: tuple[tuple[Literal["target", "comparison"], YamlPath], ...] = (
        ("target", ("target",)),
        ("comparison", ("answer", "comparison")),
    )
    for at, entry in reading.raw("claims"):
        if str(entry.get("id")) in lowered:
            continue
        called = f"claim '{entry.get('id', at[1])}'"
        for noun, below in keys:
            value: Any = entry
            for key in below:
                value = value.get(key) if isinstance(value, dict) else None
            line = reading.document.places.line((*at, *below))
            for name in value if isinstance(value, list) else [value]:
                if isinstance(name, str):
                    yield NamedElsewhere(noun, name, called, line)


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _files(reading: ProjectReading, head: dict[str, Any]) -> dict[str, str]:
    """Return the digest of assay.yaml and of each file of code, by name; of files that are wrong,
    alone or together, ``UNREAD``: they are there, and nothing else is to be said of them.
    """
    folder = reading.folder
    listed = head.get("files")
    there, wrong, odd = set[str](), set[str](), set[str]()
    for number, name in enumerate(listed if isinstance(listed, list) else ()):
        here = "files", number
        if not isinstance(name, str):
            reading.refuse(here, f"files: entry {number + 1} is no text, and a path is one")
            continue
        if not is_name(name):
            quoted = shortened(shown_line(name), LONGEST_QUOTED)
            reading.refuse(here, f"files: '{quoted}': {IN_WORDS[PATH_PATTERN]}")
            odd.add(name)
            continue
        if (problem := file_problem(folder, name)) is None:
            there.add(name)
            continue
        meant = "" if (folder / name).exists() else suggest(name, _names_beside(folder, name))
        reading.refuse(here, f"files: {name}: {problem}{meant}")
        wrong.add(name)
    for name in set(code_by_name(folder)) - there - wrong - odd:
        if (problem := file_problem(folder, name)) is None:
            there.add(name)
            continue
        reading.refuse(("files",), f"{shown_line(name)}: {problem}")
        if is_name(name):
            wrong.add(name)
    unread = dict.fromkeys(wrong, UNREAD)
    names = [PROJECT_FILE, *sorted(there)]
    try:
        if (problem := bounds_problem(folder, there)) is None:
            return digests(folder, names) | unread
    except BadInput as error:
        problem = str(error)
    reading.refuse(("files",), problem)
    return dict.fromkeys(names, UNREAD) | unread


def _names_beside(folder: Path, name: str) -> list[str]:
    """Return the files of a file's folder, named as the file is."""
    path = folder / name
    if not path.parent.is_dir():
        return []
    there = sorted(each.name for each in path.parent.iterdir() if each.is_file())
    return [(Path(name).parent / each).as_posix() for each in there]


def _claims_file(
    source: ProjectSource,
    claims: list[Claim],
    audits: list[Audit],
    commands: list[OriginalSource],
) -> ClaimsFile:
    return ClaimsFile.model_validate(
        {
            "schema": "assay/claims/1",
            "source": Source(**{name: getattr(source, name) for name in Source.model_fields}),
            "claims": tuple(claims),
            "audits": tuple(audits),
            "commands": tuple(commands),
        }
    )
