"""A project's ``assay.yaml``, read whole, and lowered to the records of Assay's configuration."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from assay.base.errors import BadInput
from assay.base.strict_yaml import YamlPath
from assay.base.yaml_problems import (
    PlacedYaml,
    YamlProblem,
    YamlProblems,
    beside,
    read_part,
    read_placed_yaml,
    suggest,
)
from assay.catalog.as_written import write_out
from assay.catalog.project_folder import PROJECT_FILE, code_files, digest_of, digests
from assay.records.base import Record
from assay.records.claims import METRIC_UNITS, Audit, Claim, ClaimKind, ClaimsFile, Source
from assay.records.evaluations import Metric
from assay.records.kernels import Variant
from assay.records.projects import (
    Measurement,
    ProjectAudit,
    ProjectClaim,
    ProjectDocument,
    ProjectSource,
    ProjectTarget,
    ShortAnswer,
)
from assay.records.readings import FlopFormula
from assay.records.targets import Target
from assay.records.units import Unit, unit_as_written
from assay.records.workloads import Comparison, Operation, ProjectCode, Workload

R = TypeVar("R", bound=Record)

PARTS: dict[str, type[Record]] = {
    "sources": ProjectSource,
    "targets": ProjectTarget,
    "measurements": Measurement,
    "claims": ProjectClaim,
    "audits": ProjectAudit,
}
"""Lists of the document; each entry is read by itself, so that all that is wrong is told at
once."""


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
    """Of each claim, audit and measurement, by id."""
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
    return _Lowering(folder, document).project()


def project_files(folder: Path) -> tuple[str, ...]:
    """Return assay.yaml and the code of the project in ``folder``. Raises BadInput."""
    return load_project(folder).files


@dataclass
class _Lowering:
    """One document on its way, and what was found wrong with it."""

    folder: Path
    document: PlacedYaml
    problems: list[YamlProblem] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)

    def project(self) -> Project:
        head = self._head()
        entries = {name: list(self._entries(name)) for name in PARTS}
        self._require_ids(entries)
        files = self._files(head)
        sources = [entry for _, entry in entries["sources"]]
        comparisons, variants, workloads = self._measurements(entries["measurements"], files)
        measured = {entry.id: entry for _, entry in entries["measurements"]}
        claims = self._claims(entries["claims"], measured)
        audits = self._audits(entries["audits"])
        if not self.problems:
            for at, source in entries["sources"]:
                if source.id not in claims:
                    self._refuse(at, f"source '{source.id}': no claim is of it")
        return Project(
            folder=self.folder,
            title=str(head.get("title") or ""),
            sha256=digest_of(files),
            files=tuple(sorted(files)),
            sources={
                source.id: _claims_file(source, claims[source.id], audits.get(source.id))
                for source in sources
                if source.id in claims
            },
            targets={entry.id: _target(entry) for _, entry in entries["targets"]},
            workloads=workloads,
            variants=variants,
            comparisons=comparisons,
            lines=self.lines,
            problems=tuple(self.problems),
            named=self._named(*PARTS),
        )

    def _files(self, head: dict[str, Any]) -> dict[str, str]:
        """Return the digest of assay.yaml and of each file of code."""
        named = head.get("files", ())
        plain = isinstance(named, list) and all(isinstance(name, str) for name in named)
        try:
            names = code_files(self.folder, tuple(named) if plain else ())
            return digests(self.folder, [PROJECT_FILE, *names])
        except BadInput as error:
            self._refuse(("files",), str(error))
            return {}

    def _named(self, *parts: str) -> frozenset[str]:
        """Return the ids of entries, those among them that are wrong in another way."""
        lists = (self.document.value.get(name) for name in parts)
        return frozenset(
            entry["id"]
            for entries in lists
            if isinstance(entries, list)
            for entry in entries
            if isinstance(entry, dict) and isinstance(entry.get("id"), str)
        )

    def _head(self) -> dict[str, Any]:
        """Return the document with its lists left empty, checked by itself."""
        value = self.document.value
        if not isinstance(value, dict):
            raise YamlProblems(
                self.document.path, [YamlProblem(1, "is no mapping: schema, sources, claims")]
            )
        for name in ("sources", "claims"):
            if value.get(name) == []:
                self._refuse((name,), f"{name}: is empty, and there is nothing to judge")
        for name in PARTS:
            if name in value and not isinstance(value[name], list):
                self._refuse((name,), f"{name}: is no list (each entry begins with '- ')")
        emptied = {key: [] if key in PARTS else entry for key, entry in value.items()}
        _, found = read_part(ProjectDocument, emptied, self.document, ())
        # That lists which were emptied here are empty says nothing.
        self.problems += [
            each
            for each in found
            if not any(f"{name}: tuple should" in each.says for name in PARTS)
        ]
        return value

    def _entries(self, name: str) -> Iterator[tuple[YamlPath, Any]]:
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
            if record is not None:
                yield at, record

    def _require_ids(self, entries: Mapping[str, list[tuple[YamlPath, Any]]]) -> None:
        """Note ids that are given twice, and keep the first; claims and audits share theirs."""
        for names in (("sources",), ("targets",), ("measurements",), ("claims", "audits")):
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

    def _refuse(self, at: YamlPath, says: str) -> None:
        self.problems.append(self.document.problem(at, says))

    def _made(self, model: type[R], at: YamlPath, called: str, content: dict[str, Any]) -> R | None:
        """Return a record of ``content``, or None where it does not fit; notes why not."""
        try:
            return model.model_validate(content)
        except ValidationError as error:
            for each in error.errors(include_url=False, include_input=False):
                message = each["msg"].removeprefix("Value error, ")
                where = ".".join(str(part) for part in each["loc"] if part != "evaluation")
                place = f"{where}: " if where else ""
                self._refuse(at, f"{called}: {place}{message[:1].lower()}{message[1:]}")
            return None

    def _measurements(
        self, entries: list[tuple[YamlPath, Measurement]], files: dict[str, str]
    ) -> tuple[dict[str, Comparison], dict[str, Variant], dict[str, Workload]]:
        comparisons: dict[str, Comparison] = {}
        variants: dict[str, Variant] = {}
        workloads: dict[str, Workload] = {}
        for at, entry in entries:
            called = f"measurement '{entry.id}'"
            file, function = entry.callable.split(":")
            if file not in files:
                meant = suggest(file, files)
                self._refuse((*at, "callable"), f"{called}: there is no file {file}{meant}")
            if entry.control is not None and entry.control not in entry.arms:
                meant = suggest(entry.control, entry.arms)
                self._refuse(
                    (*at, "control"), f"{called}: control: no arm '{entry.control}'{meant}"
                )
                continue
            read = {name: sha256 for name, sha256 in files.items() if name != PROJECT_FILE}
            code = ProjectCode(file=file, function=function, files=read)
            kept = ("dtype", "seed", "relative_tolerance", "max_abs_tolerance", "parameters",
                    "flops", "bytes")  # fmt: skip
            workload = self._made(
                Workload,
                at,
                called,
                {
                    **{name: getattr(entry, name) for name in kept},
                    "id": entry.id,
                    "operation": Operation.CALLABLE,
                    "distribution": "own",
                    "code": code,
                },
            )
            comparison = self._made(
                Comparison,
                at,
                called,
                {
                    "id": entry.id,
                    "title": entry.title,
                    "protocol": entry.protocol,
                    "arms": tuple(
                        {"id": arm, "variant": f"{entry.id}_{arm}", "workload": entry.id}
                        for arm in entry.arms
                    ),
                    "control": entry.control or list(entry.arms)[-1],
                },
            )
            if workload is None or comparison is None:
                continue
            workloads[entry.id], comparisons[entry.id] = workload, comparison
            for arm, title in entry.arms.items():
                variants[f"{entry.id}_{arm}"] = Variant(
                    id=f"{entry.id}_{arm}",
                    operation=workload.operation,
                    title=title,
                    kind="callable",
                    entry=arm,
                    artifact=entry.artifact,
                    built_from=entry.built_from or f"arm {arm} of {entry.callable} of the project",
                )
        return comparisons, variants, workloads

    def _claims(
        self,
        entries: list[tuple[YamlPath, ProjectClaim]],
        measured: Mapping[str, Measurement],
    ) -> dict[str, list[Claim]]:
        found: dict[str, list[Claim]] = {}
        for at, entry in entries:
            called = f"claim '{entry.id}'"
            source = self._source(at, called, entry.source)
            evaluation: Any = entry.evaluation
            if entry.answer is not None:
                evaluation = self._evaluation(at, called, entry, entry.answer, measured)
            if source is None or evaluation is None:
                continue
            claim = self._made(Claim, at, called, _plain_claim(entry, evaluation))
            if claim is not None:
                found.setdefault(source, []).append(claim)
        return found

    def _audits(self, entries: list[tuple[YamlPath, ProjectAudit]]) -> dict[str, list[Audit]]:
        found: dict[str, list[Audit]] = {}
        for at, entry in entries:
            source = self._source(at, f"audit '{entry.id}'", entry.source)
            kept = {name: getattr(entry, name) for name in Audit.model_fields if name != "place"}
            content = {**kept, "place": entry.place}
            audit = self._made(Audit, at, f"audit '{entry.id}'", content)
            if source is not None and audit is not None:
                found.setdefault(source, []).append(audit)
        return found

    def _source(self, at: YamlPath, called: str, named: str | None) -> str | None:
        ids = sorted(self._named("sources"))
        if named is None and len(ids) == 1:
            return ids[0]
        if named is None:
            self._refuse(at, f"{called}: says not which source it is of: {', '.join(ids)}")
        elif named not in ids:
            meant = suggest(named, ids)
            self._refuse((*at, "source"), f"{called}: there is no source '{named}'{meant}")
        else:
            return named
        return None

    def _evaluation(
        self,
        at: YamlPath,
        called: str,
        entry: ProjectClaim,
        answer: ShortAnswer,
        known: Mapping[str, Measurement],
    ) -> dict[str, Any] | None:
        """Return what an answer in short stands for; None where it names what there is not."""
        at = (*at, "answer")
        unit = unit_as_written(entry.unit) if entry.unit else None
        arm, over, comparison = answer.arm, answer.over, answer.comparison
        if answer.measurement is not None:
            if answer.measurement not in known:
                named = self._named("measurements")
                if answer.measurement in named:
                    return None  # what is wrong with it is said where it stands
                meant = suggest(answer.measurement, named)
                says = f"there is no measurement '{answer.measurement}'{meant}"
                self._refuse((*at, "measurement"), f"{called}: {says}")
                return None
            comparison = answer.measurement
            arms = list(known[comparison].arms)
            arm = arm or arms[0]
            if over is None and unit in METRIC_UNITS[Metric.TIME_RATIO] and len(arms) == 2:
                over = next(each for each in arms if each != arm)
            for key, name in (("arm", arm), ("over", over)):
                if name is not None and name not in arms:
                    meant = suggest(name, arms)
                    self._refuse((*at, key), f"{called}: '{comparison}' has no arm '{name}'{meant}")
                    return None
        metric = answer.metric or _metric(unit)
        if metric is None:
            says = f"what is measured has a unit: {entry.unit or 'none'} is no rate, time or ratio"
            self._refuse(at, f"{called}: {says}")
            return None
        if metric in (Metric.RATE_RATIO, Metric.TIME_RATIO) and over is None:
            self._refuse(
                at, f"{called}: a ratio is of two arms: say which it is held against (over)"
            )
            return None
        term = {"comparison": comparison, "arm": arm, "over": over}
        return {"kind": "benchmark", "metric": metric, "terms": (term,)}


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
            "id", "statement", "value", "resolution", "relation", "configuration", "software",
            "command", "flops", "unstated", "note", "sentence",
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


def _target(entry: ProjectTarget) -> Target:
    return Target.model_validate(entry.model_dump(by_alias=True))


def _claims_file(
    source: ProjectSource, claims: list[Claim], audits: list[Audit] | None
) -> ClaimsFile:
    return ClaimsFile.model_validate(
        {
            "schema": "assay/claims/1",
            "source": Source(**{name: getattr(source, name) for name in Source.model_fields}),
            "claims": tuple(claims),
            "audits": tuple(audits or ()),
        }
    )
