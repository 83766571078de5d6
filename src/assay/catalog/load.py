"""The catalog: every claim, target, workload, comparison and kernel, read and cross-checked."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from assay.base.errors import BadInput
from assay.base.io import load_yaml
from assay.base.yaml_problems import QUOTED, YamlProblem, YamlProblems, suggest
from assay.catalog.claims_files import load_claims_file
from assay.catalog.model import NO_TUNING, Catalog, ProjectFacts
from assay.catalog.project import Project, load_project
from assay.catalog.project_folder import EVIDENCE_FOLDER, PROJECT_FILE, project_of
from assay.catalog.references import (
    ReferenceProblem,
    check_references,
    names_within,
    reference_problems,
)
from assay.records.claims import (
    Audit,
    Claim,
    ClaimsFile,
)
from assay.records.kernels import KernelManifest
from assay.records.rivals import RivalsFile
from assay.records.site_files import SITE_FILES
from assay.records.targets import Target
from assay.records.tuning import TuningFile
from assay.records.workloads import ComparisonsFile, Judging, ProtocolsFile, WorkloadsFile

T = TypeVar("T")

OWN_CLAIMS = "config/claims/"
"""Where the claims of Assay's own sources lie."""


def load_catalog(root: Path, project: Path | None = None) -> Catalog:
    """Read ``config/`` and ``kernels/*/kernel.yaml`` below ``root`` and check every reference.

    The claims are those of ``config/claims``, or else of a project: of the folder ``project``, or
    of the copy that a run or a report's evidence holds. Works on the repository, on a run's folder
    and on evidence alike. Raises BadInput, which names all that is wrong with the claims.
    """
    folder = project or project_of(root)
    if folder is None:
        catalog = _catalog(root, _own_sources(root))
        check_references(catalog)
        return catalog
    checked = check_project(root, folder)
    if checked.problems:
        raise YamlProblems(folder / PROJECT_FILE, checked.problems)
    return checked.catalog


@dataclass(frozen=True)
class CheckedProject:
    """A project together with Assay's own configuration, and all that is wrong with its file."""

    catalog: Catalog
    """Of what could be lowered."""
    sound: Catalog
    """Of what, in that, names nothing that there is not."""
    own: Project
    problems: tuple[YamlProblem, ...]

    @property
    def unsure(self) -> frozenset[str]:
        """Return every text of the claims that are not sound: what they may be answered by."""
        texts = (each for of, each in self.own.claim_texts if of not in self.sound.claims)
        return frozenset().union(*texts)


def check_project(root: Path, folder: Path) -> CheckedProject:
    """Read the project in ``folder``. Raises BadInput for what is no YAML, or no mapping."""
    base = _catalog(root, {})
    own = _without_arms_of_ours(base, load_project(folder))
    problems = [*own.problems, *_taken_ids(base, own), *_unknown_names(base, own)]
    whole = with_project(base, own)
    broken = list(reference_problems(whole))
    if own.sources:
        problems += _broken_references(own, broken)
    found = tuple(sorted(dict.fromkeys(problems)))
    sound = with_project(base, _sound(base, own, own.mended | {each.of for each in broken}))
    return CheckedProject(whole, sound, own, found)


def _sound(base: Catalog, own: Project, wrong: Collection[str]) -> Project:
    """Return a project without the entries that are wrong, nor those that rest on them."""
    if not wrong:
        return own
    less = _without(own, _with_what_rests_on(own, wrong))
    if any(reference_problems(with_project(base, less))):  # what is wrong is of no entry
        return replace(own, sources={}, comparisons={})
    return less


def _with_what_rests_on(own: Project, wrong: Collection[str]) -> set[str]:
    """Return the ids of entries that are wrong, and of all that rest on one of them."""
    resting: dict[str, list[str]] = {}
    for source in own.sources.values():
        entries: tuple[Claim | Audit, ...] = (*source.claims, *source.audits)
        for entry in entries:
            for name in set(names_within(entry)):
                resting.setdefault(name, []).append(entry.id)
    found, waiting = set(wrong), list(wrong)
    while waiting:
        for name in resting.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


def _without(own: Project, wrong: Collection[str]) -> Project:
    sources: dict[str, ClaimsFile] = {}
    for name, entry in own.sources.items():
        claims = tuple(claim for claim in entry.claims if claim.id not in wrong)
        kept = {claim.id for claim in claims}
        changed = {
            "claims": claims,
            "audits": tuple(audit for audit in entry.audits if audit.id not in wrong),
            "commands": tuple(
                command
                for command in entry.commands
                if all(figure.claim in kept for figure in command.figures)
            ),
        }
        sources[name] = entry.model_copy(update=changed)
    comparisons = {name: each for name, each in own.comparisons.items() if name not in wrong}
    return replace(own, sources=sources, comparisons=comparisons)


def _unknown_names(base: Catalog, own: Project) -> Iterator[YamlProblem]:
    """Yield names in claims that could not be lowered which name nothing."""
    known = {
        "target": base.targets.keys() | own.targets.keys(),
        "comparison": base.comparisons.keys() | own.comparisons.keys(),
    }
    for each in own.names:
        if each.name not in known[each.noun] | own.named:  # of an entry that is wrong, maybe
            meant = suggest(each.name, sorted(known[each.noun]))
            says = f"{each.called}: there is no {each.noun} '{each.name}'{meant}"
            yield YamlProblem(each.line, says)


def with_project(base: Catalog, own: Project) -> Catalog:
    """Return the base of Assay together with a project."""
    return replace(
        base,
        **_by_source(own.sources),
        targets={**own.targets, **base.targets},
        workloads={**own.workloads, **base.workloads},
        variants={**own.variants, **base.variants},
        comparisons={**own.comparisons, **base.comparisons},
        project=ProjectFacts(own.title, own.sha256, own.files, frozenset(own.comparisons)),
    )


def _taken_ids(base: Catalog, own: Project) -> Iterator[YamlProblem]:
    """Yield what is wrong with ids that Assay has, too: its peaks and problems stay its own."""
    for noun, mine, theirs in (
        ("target", own.targets, base.targets.keys()),
        ("measurement", own.comparisons, base.comparisons.keys() | base.workloads.keys()),
    ):
        for name in mine.keys() & theirs:
            says = f"{noun} '{name}': Assay has one of that id: name it otherwise"
            yield YamlProblem(own.lines.get(name, 1), says)


def _without_arms_of_ours(base: Catalog, own: Project) -> Project:
    """Return a project without measurements of whose arms one has the id of something that Assay
    compiles, which is noted: all that is said of them would be said of Assay's own.
    """
    ours = base.variants.keys() | base.programs.keys() | base.probes.keys()
    found: dict[str, list[YamlProblem]] = {}
    for comparison in own.comparisons.values():
        for arm in comparison.arms:
            if arm.variant in ours:
                says = f"measurement '{comparison.id}': arm '{arm.id}': Assay has an arm of its own"
                says += f" called {arm.variant}: rename the measurement or the arm"
                line = own.lines.get(f"{comparison.id}.{arm.id}", 1)
                found.setdefault(comparison.id, []).append(YamlProblem(line, says))
    kept = {name: each for name, each in own.comparisons.items() if name not in found}
    noted = tuple(each for problems in found.values() for each in problems)
    return replace(own, comparisons=kept, problems=(*own.problems, *noted))


def _broken_references(own: Project, problems: Iterable[ReferenceProblem]) -> Iterator[YamlProblem]:
    """Yield what is wrong with a project's names, but for those of entries that are wrong."""
    for each in problems:
        quoted = set(QUOTED.findall(each.says)) - {each.of}
        if not (own.problems and quoted & own.named):
            line = own.lines.get(f"{each.of}.{each.part}", own.lines.get(each.of, 1))
            yield YamlProblem(line, each.says)


def _own_sources(root: Path) -> dict[str, ClaimsFile]:
    """Return the claims of ``config/claims``. Raises BadInput with what is wrong in every file."""
    sources: dict[str, ClaimsFile] = {}
    wrong: list[BadInput] = []
    for path in _yaml_files(root / OWN_CLAIMS):
        try:
            claims_file = load_claims_file(path)
        except BadInput as error:
            wrong.append(error)
            continue
        if path.stem != claims_file.source.id:
            says = f"{path}: its source id is '{claims_file.source.id}', not the file name"
            wrong.append(BadInput(says))
        sources[claims_file.source.id] = claims_file
    if len(wrong) > 1:
        raise BadInput("\n  ".join(map(str, wrong)), code=wrong[0].code)
    if wrong:
        raise wrong[0]
    return sources


def _by_source(sources: dict[str, ClaimsFile]) -> dict[str, Any]:
    """Return the parts of a catalog that follow from its sources. Raises BadInput."""
    claims: dict[str, Claim] = {}
    audits: dict[str, Audit] = {}
    source_of: dict[str, str] = {}
    for source, claims_file in sources.items():
        entries: tuple[Claim | Audit, ...] = (*claims_file.claims, *claims_file.audits)
        for entry in entries:
            if entry.id in source_of:
                other = source_of[entry.id]
                raise BadInput(
                    f"{source}.yaml: claim id '{entry.id}' is given twice (see {other}.yaml)"
                )
            source_of[entry.id] = source
        claims.update((claim.id, claim) for claim in claims_file.claims)
        audits.update((audit.id, audit) for audit in claims_file.audits)
    return {"sources": sources, "claims": claims, "audits": audits, "source_of": source_of}


def _catalog(root: Path, sources: dict[str, ClaimsFile]) -> Catalog:
    kernels = [
        (path, load_yaml(KernelManifest, path))
        for path in sorted((root / "kernels").glob("*/kernel.yaml"))
    ]
    tuning, rivals = root / "config" / "tuning.yaml", root / "config" / "rivals.yaml"
    listed = load_yaml(RivalsFile, rivals).rivals if rivals.is_file() else ()
    return Catalog(
        **_by_source(sources),
        targets=_by_id(
            root / "config" / "targets", lambda p: (load_yaml(Target, p),), lambda t: t.id
        ),
        workloads=_by_id(
            root / "config" / "workloads",
            lambda p: load_yaml(WorkloadsFile, p).workloads,
            lambda w: w.id,
        ),
        comparisons=_by_id(
            root / "config" / "comparisons",
            lambda p: load_yaml(ComparisonsFile, p).comparisons,
            lambda c: c.id,
        ),
        protocols={
            protocol.id: protocol
            for protocol in load_yaml(ProtocolsFile, root / "config" / "protocols.yaml").protocols
        },
        variants=_unique((v.id, v, path) for path, kernel in kernels for v in kernel.variants),
        programs=_unique((p.id, p, path) for path, kernel in kernels for p in kernel.programs),
        probes=_unique((p.id, p, path) for path, kernel in kernels for p in kernel.probes),
        kernel_folder={
            name: path.parent.name
            for path, kernel in kernels
            for name in (*(v.id for v in kernel.variants), *(p.id for p in kernel.probes))
        },
        judging=load_yaml(Judging, root / "config" / "judging.yaml"),
        tuning=load_yaml(TuningFile, tuning) if tuning.is_file() else NO_TUNING,
        operators=tuple(entry for _, kernel in kernels for entry in kernel.operators),
        rivals=_unique((each.id, each, rivals) for each in listed),
    )


def catalog_files(root: Path) -> list[str]:
    """Return what a catalog is read from and a report carries of it, relative to ``root``.

    Of a folder that holds a project's copy that, and no claims of Assay's.
    """
    return sorted([*base_files(root, claims=project_of(root) is None), *_project_files(root)])


def base_files(root: Path, *, claims: bool) -> list[str]:
    """Return the files of Assay's configuration; ``claims``: its own sources among them.

    What a site says of its cluster is none: no figure means anything else by it.
    """
    found = [path for path in (root / "config").rglob("*.yaml") if path.is_file()]
    found += (root / "kernels").glob("*/kernel.yaml")
    names = sorted(path.relative_to(root).as_posix() for path in found)
    return [
        name
        for name in names
        if name not in SITE_FILES and (claims or not name.startswith(OWN_CLAIMS))
    ]


def _project_files(root: Path) -> Iterator[str]:
    folder = root / EVIDENCE_FOLDER
    if project_of(root) is not None:
        yield from (
            path.relative_to(root).as_posix() for path in folder.rglob("*") if path.is_file()
        )


def _yaml_files(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise BadInput(f"{folder}: holds no .yaml file")
    return files


def _unique(entries: Iterable[tuple[str, T, Path]]) -> dict[str, T]:
    found: dict[str, T] = {}
    for key, value, path in entries:
        if key in found:
            raise BadInput(f"{path}: id '{key}' is given twice")
        found[key] = value
    return found


def _by_id(
    folder: Path, load: Callable[[Path], Iterable[T]], key: Callable[[T], str]
) -> dict[str, T]:
    return _unique((key(v), v, path) for path in _yaml_files(folder) for v in load(path))
