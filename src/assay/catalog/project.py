"""A document of claims, read whole: ``assay.yaml`` of a project, or a file of ``config/claims``."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.base.errors import BadInput
from assay.base.io import read_text
from assay.base.printable import shown_line
from assay.base.strict_yaml import YamlPath
from assay.base.yaml_problems import YamlProblem, YamlProblems, read_placed_yaml
from assay.catalog import project_folder
from assay.catalog.claim_documents import ProjectReading, placed, read_document
from assay.catalog.project_claims import lower_audits, lower_claims, lower_commands
from assay.catalog.project_measurements import lower_measurements
from assay.records import projects
from assay.records.base import Record
from assay.records.claims import Source, SourceClaims, SourceExtras
from assay.records.kernels import Variant
from assay.records.platform import Target
from assay.records.workloads import Comparison, Workload

PARTS: dict[str, type[Record]] = {
    "sources": projects.ProjectSource,
    "targets": projects.ProjectTarget,
    "measurements": projects.Measurement,
    "commands": projects.ProjectCommand,
    "claims": projects.ProjectClaim,
    "audits": projects.ProjectAudit,
}


@dataclass(frozen=True)
class Project:
    """What a project says, in the words of Assay's configuration."""

    folder: Path
    title: str
    files: dict[str, str]
    """Digests of assay.yaml and its code, by names relative to its folder."""
    sources: dict[str, SourceClaims] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)
    workloads: dict[str, Workload] = field(default_factory=dict)
    variants: dict[str, Variant] = field(default_factory=dict)
    comparisons: dict[str, Comparison] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    """Of each entry, by id, and of parts of it, by ``id.part``."""
    problems: tuple[YamlProblem, ...] = ()
    """All that is wrong; where anything is, nothing else here need be whole."""

    def line_of(self, of: str, part: str = "") -> int:
        """Return the line of a part of an entry, or of the entry."""
        return self.lines.get(f"{of}.{part}", self.lines.get(of, 1))

    @property
    def sha256(self) -> str:
        """Return one digest of all its files."""
        return project_folder.digest_of(self.files)


def load_project(folder: Path) -> Project:
    """Read the project in ``folder``; what is wrong in it is in ``problems``, with lines.

    What its names refer to is looked at once each entry is well formed, and what they refer to
    outside of it with the whole catalog. Raises BadInput for what is no YAML.
    """
    try:
        document = read_placed_yaml(folder / project_folder.PROJECT_FILE)
    except BadInput as error:
        if error.code == "yaml-empty":
            says = f"{error}: ./assay new DIR writes one to begin with"
            raise BadInput(says, code=error.code) from error
        raise
    read, problems = read_document(projects.ProjectDocument, PARTS, document)
    reading = ProjectReading(folder, document, problems=problems)
    named = document.value.get("files") if isinstance(document.value, dict) else None
    files = _files(reading, read.files if read else named if isinstance(named, list) else ())
    if read is not None and not reading.problems:
        return _lowered(reading, read, files)
    return Project(folder, "", files, problems=tuple(reading.problems))


_READ: dict[str, dict[str, SourceClaims]] = {}
"""What files of ``config/claims`` say, by their text: reports mostly hold the same."""


def load_claims(path: Path) -> dict[str, SourceClaims]:
    """Read a file of ``config/claims``: sources by id, their claims and their audits.

    Raises BadInput with all that is wrong, and for code of its own: Assay's lies in ``kernels``.
    """
    text = read_text(path)
    if text not in _READ:
        _READ[text] = _read_claims(path)
    return _READ[text]


def _read_claims(path: Path) -> dict[str, SourceClaims]:
    document = read_placed_yaml(path)
    document = replace(document, value=_of_today(document.value))
    read, problems = read_document(projects.ProjectDocument, PARTS, document)
    found = Project(path.parent, "", {}, problems=tuple(problems))
    if read is not None:
        reading = ProjectReading(path.parent, document)
        for part in ("targets", "measurements", "commands", "files"):
            if getattr(read, part):
                reading.refuse((part,), f"{part}: stand in a project alone")
        found = _lowered(reading, read, {})
    if found.problems:
        raise YamlProblems(path, found.problems)
    return found.sources


def _of_today(value: Any) -> Any:
    """Return a document of claims as written today; up to November 2026 one file had one source."""
    if not isinstance(value, dict) or value.get("schema") != "assay/claims/1":
        return value
    below = ("claims", "audits")
    source = {key: each for key, each in value.items() if key not in ("schema", "source", *below)}
    named = value.get("source", {})
    source = source | named if isinstance(named, dict) else named
    lists = {key: value[key] for key in below if key in value}
    return {"schema": "assay/project/1", "sources": [source], **lists}


def project_files(folder: Path) -> tuple[str, ...]:
    """Return assay.yaml and the code of the project in ``folder``. Raises BadInput."""
    return tuple(sorted(load_project(folder).files))


def _lowered(
    reading: ProjectReading, read: projects.ProjectDocument, files: dict[str, str]
) -> Project:
    reading.sources = tuple(source.id for source in read.sources)
    reading.require_ids({name: getattr(read, name) for name in PARTS})
    for at, source in placed("sources", read.sources):
        reading.note_lines(source.id, at, {"file": ("file",)})
    for at, claim in placed("claims", read.claims):
        answer = "answer" if claim.answer is not None else "evaluation"
        target = "target" if claim.target is not None else "hardware"
        reading.note_lines(
            claim.id, at, {"answer": (answer,), "target": (target,), "resolution": ("resolution",)}
        )
    comparisons, variants, workloads = lower_measurements(reading, read.measurements, files)
    claims = lower_claims(reading, read)
    audits = lower_audits(reading, read.audits)
    commands = lower_commands(reading, read, claims)
    of_claims = {each.source for each in read.claims}
    for at, source in placed("sources", read.sources):
        if len(read.sources) > 1 and source.id not in of_claims:
            reading.refuse(at, f"source '{source.id}': no claim is of it")
    return Project(
        folder=reading.folder,
        title=read.title or "",
        files=files,
        sources={
            source.id: SourceClaims(
                **{name: getattr(source, name) for name in SourceExtras.model_fields},
                source=Source(**{name: getattr(source, name) for name in Source.model_fields}),
                claims=tuple(claims[source.id]),
                audits=tuple(audits.get(source.id, ())),
                commands=tuple(commands.get(source.id, ())),
            )
            for source in read.sources
            if source.id in claims
        },
        targets={
            entry.id: Target.model_validate(entry.model_dump(by_alias=True))
            for entry in read.targets
        },
        workloads=workloads,
        variants=variants,
        comparisons=comparisons,
        lines=reading.lines,
        problems=tuple(reading.problems),
    )


def _files(reading: ProjectReading, listed: Sequence[object]) -> dict[str, str]:
    """Return the digest of assay.yaml and of each file of code, by name; notes what is wrong."""
    folder = reading.folder
    names: list[tuple[YamlPath, str]]
    names = [(("files", n), name) for n, name in enumerate(listed) if isinstance(name, str)]
    names += [(("files",), name) for name in project_folder.code_by_name(folder)]
    there = set[str]()
    for at, name in names:
        if (problem := project_folder.file_problem(folder, name)) is None:
            there.add(name)
        else:
            says = f"{shown_line(name)}: {problem}"
            reading.refuse(at, f"files: {says}" if at[1:] else says)
    try:
        if (problem := project_folder.bounds_problem(folder, there)) is None:
            return project_folder.digests(folder, [project_folder.PROJECT_FILE, *sorted(there)])
    except BadInput as error:
        problem = str(error)
    reading.refuse(("files",), problem)
    return {}
