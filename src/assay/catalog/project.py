"""A project's ``assay.yaml``, read whole, and lowered to the records of Assay's configuration."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.base.errors import BadInput
from assay.base.yaml_problems import YamlProblem, read_placed_yaml
from assay.catalog.project_claims import lower_audits, lower_claims
from assay.catalog.project_commands import lower_commands
from assay.catalog.project_folder import PROJECT_FILE, code_files, digest_of, digests
from assay.catalog.project_measurements import lower_measurements
from assay.catalog.project_reading import PARTS, ProjectReading
from assay.records.claims import Audit, Claim, ClaimsFile, Source
from assay.records.kernels import Variant
from assay.records.originals import OriginalSource
from assay.records.projects import ProjectSource, ProjectTarget
from assay.records.targets import Target
from assay.records.workloads import Comparison, Workload


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


def load_project(folder: Path) -> Project:
    """Read the project in ``folder``; what is wrong in it is in ``problems``, with lines.

    What its names refer to outside of it is looked at with the whole catalog. Raises BadInput for
    what is no YAML, or no mapping.
    """
    document = read_placed_yaml(folder / PROJECT_FILE)
    return _lowered(ProjectReading(folder, document))


def project_files(folder: Path) -> tuple[str, ...]:
    """Return assay.yaml and the code of the project in ``folder``. Raises BadInput."""
    return load_project(folder).files


def _lowered(reading: ProjectReading) -> Project:
    head = reading.head()
    entries = {name: list(reading.entries(name)) for name in PARTS}
    reading.require_ids(entries)
    files = _files(reading, head)
    for name, part in (("sources", "file"), ("claims", "answer")):
        for at, entry in entries[name]:
            reading.note_lines(entry.id, at, {part: (part,)})
    sources = [entry for _, entry in entries["sources"]]
    comparisons, variants, workloads = lower_measurements(reading, entries["measurements"], files)
    measured = {entry.id: entry for _, entry in entries["measurements"]}
    claims = lower_claims(reading, entries["claims"], measured)
    audits = lower_audits(reading, entries["audits"])
    commands = lower_commands(reading, entries["commands"], entries["claims"], claims)
    if not reading.problems:
        for at, source in entries["sources"]:
            if source.id not in claims:
                reading.refuse(at, f"source '{source.id}': no claim is of it")
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
        targets={entry.id: _target(entry) for _, entry in entries["targets"]},
        workloads=workloads,
        variants=variants,
        comparisons=comparisons,
        lines=reading.lines,
        problems=tuple(reading.problems),
        named=reading.named(*PARTS),
    )


def _files(reading: ProjectReading, head: dict[str, Any]) -> dict[str, str]:
    """Return the digest of assay.yaml and of each file of code."""
    named = head.get("files", ())
    plain = isinstance(named, list) and all(isinstance(name, str) for name in named)
    try:
        names = code_files(reading.folder, tuple(named) if plain else ())
        return digests(reading.folder, [PROJECT_FILE, *names])
    except BadInput as error:
        reading.refuse(("files",), str(error))
        return {}


def _target(entry: ProjectTarget) -> Target:
    return Target.model_validate(entry.model_dump(by_alias=True))


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
