"""The catalog: every claim, target, workload, comparison and kernel, read and cross-checked."""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from assay.base.commits import SITE_FILES
from assay.base.errors import BadInput
from assay.base.io import load_yaml
from assay.base.yaml_problems import YamlProblem, YamlProblems
from assay.catalog.model import NO_TUNING, Catalog, ProjectFacts
from assay.catalog.project import Project, load_claims, load_project
from assay.catalog.project_folder import PROJECT_FILE, project_of
from assay.catalog.references import check_references, reference_problems
from assay.records.claims import Audit, Claim, SourceClaims
from assay.records.kernels import KernelManifest
from assay.records.platform import Target
from assay.records.rivals import RivalsFile, TuningFile
from assay.records.workloads import ComparisonsFile, Judging, ProtocolsFile, WorkloadsFile


class _Named(Protocol):
    @property
    def id(self) -> str:
        """Return what the other files name it by."""


T = TypeVar("T", bound=_Named)

KEYS = "config/trusted_keys/"
"""Where the keys lie that a checkout trusts."""
OWN_CLAIMS = "config/claims/"


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


def load_base(root: Path, *, claims: bool) -> Catalog:
    """Return Assay's own configuration below ``root``, no reference checked; ``claims``: its own
    sources among it. Raises BadInput.
    """
    return _catalog(root, _own_sources(root) if claims else {})


@dataclass(frozen=True)
class CheckedProject:
    """A project together with Assay's own configuration, and what is wrong with its file."""

    catalog: Catalog
    """Without the claims and audits whose names do not fit; without the project where its entries
    are wrong, or others need such a claim."""
    own: Project
    problems: tuple[YamlProblem, ...]


def check_project(root: Path, folder: Path) -> CheckedProject:
    """Read the project in ``folder``: its entries and, where all are well formed, what their names
    refer to. Raises BadInput for what is no YAML.
    """
    base, own = _catalog(root, {}), load_project(folder)
    problems = own.problems or tuple(_taken_ids(base, own))
    if problems:
        return CheckedProject(base, own, tuple(sorted(dict.fromkeys(problems))))
    whole = with_project(base, own)
    found = reference_problems(whole)
    problems = tuple(YamlProblem(own.line_of(each.of, each.part), each.says) for each in found)
    sound = _without(base, own, {each.of for each in found}) if found else whole
    return CheckedProject(sound, own, tuple(sorted(dict.fromkeys(problems))))


def _without(base: Catalog, own: Project, wrong: Set[str]) -> Catalog:
    """Return base and project without the ``wrong`` entries; the base if others need them."""
    sources = {
        name: source.model_copy(
            update={
                "claims": tuple(each for each in source.claims if each.id not in wrong),
                "audits": tuple(each for each in source.audits if each.id not in wrong),
            }
        )
        for name, source in own.sources.items()
    }
    left = with_project(base, replace(own, sources=sources))
    return base if reference_problems(left) else left


def with_project(base: Catalog, own: Project) -> Catalog:
    """Return the base of Assay together with a project."""
    return replace(
        base,
        **_by_source(own.sources),
        targets={**own.targets, **base.targets},
        workloads={**own.workloads, **base.workloads},
        variants={**own.variants, **base.variants},
        comparisons={**own.comparisons, **base.comparisons},
        project=ProjectFacts(
            own.title, own.sha256, tuple(sorted(own.files)), frozenset(own.comparisons)
        ),
    )


def _taken_ids(base: Catalog, own: Project) -> Iterator[YamlProblem]:
    """Yield what is wrong with ids that Assay has, too: its peaks and problems stay its own."""
    ours = base.variants.keys() | base.programs.keys() | base.probes.keys()
    for noun, mine, theirs in (
        ("target", own.targets, base.targets.keys()),
        ("measurement", own.comparisons, base.comparisons.keys() | base.workloads.keys()),
        ("arm", own.variants, ours),
    ):
        for name in mine.keys() & theirs:
            says = f"{noun} '{name}': Assay has one of that id: name it otherwise"
            yield YamlProblem(own.lines.get(name, 1), says)


def _own_sources(root: Path) -> dict[str, SourceClaims]:
    sources: dict[str, SourceClaims] = {}
    for path in _yaml_files(root / OWN_CLAIMS):
        found = load_claims(path)
        if list(found) != [path.stem]:
            says = f"{path}: its source id is '{', '.join(found)}', not the file name"
            raise BadInput(says)
        sources |= found
    return sources


def _by_source(sources: dict[str, SourceClaims]) -> dict[str, Any]:
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


def _catalog(root: Path, sources: dict[str, SourceClaims]) -> Catalog:
    config = root / "config"
    kernels = [
        (path, load_yaml(KernelManifest, path))
        for path in sorted((root / "kernels").glob("*/kernel.yaml"))
    ]
    targets = ((path, load_yaml(Target, path)) for path in _yaml_files(config / "targets"))
    workloads = (
        (path, each)
        for path in _yaml_files(config / "workloads")
        for each in load_yaml(WorkloadsFile, path).workloads
    )
    comparisons = (
        (path, each)
        for path in _yaml_files(config / "comparisons")
        for each in load_yaml(ComparisonsFile, path).comparisons
    )
    protocols, tuning, rivals = (
        config / f"{name}.yaml" for name in ("protocols", "tuning", "rivals")
    )
    listed = load_yaml(RivalsFile, rivals).rivals if rivals.is_file() else ()
    return Catalog(
        **_by_source(sources),
        targets=_by_id(targets),
        workloads=_by_id(workloads),
        comparisons=_by_id(comparisons),
        protocols=_by_id((protocols, p) for p in load_yaml(ProtocolsFile, protocols).protocols),
        variants=_by_id((path, each) for path, kernel in kernels for each in kernel.variants),
        programs=_by_id((path, each) for path, kernel in kernels for each in kernel.programs),
        probes=_by_id((path, each) for path, kernel in kernels for each in kernel.probes),
        kernel_folder={
            name: path.parent.name
            for path, kernel in kernels
            for name in (*(v.id for v in kernel.variants), *(p.id for p in kernel.probes))
        },
        dynamic_shared={
            f"kernels/{path.parent.name}/{source}": launched
            for path, kernel in kernels
            for source, launched in kernel.dynamic_shared.items()
        },
        judging=load_yaml(Judging, config / "judging.yaml"),
        tuning=load_yaml(TuningFile, tuning) if tuning.is_file() else NO_TUNING,
        operators=tuple(entry for _, kernel in kernels for entry in kernel.operators),
        rivals=_by_id((rivals, each) for each in listed),
    )


def catalog_files(root: Path) -> list[str]:
    """Return what a catalog is read from and a report carries of it, relative to ``root``.

    Of a folder that holds a project's copy that, and no claims of Assay's.
    """
    copy = project_of(root)
    own = [path for path in copy.rglob("*") if path.is_file()] if copy else []
    names = [path.relative_to(root).as_posix() for path in own]
    return sorted([*base_files(root, claims=copy is None), *names])


def base_files(root: Path, *, claims: bool) -> list[str]:
    """Return the files of Assay's configuration; ``claims``: its own sources among them.

    What a site says of its cluster, and whose keys it trusts, is none: no figure means anything
    else by it.
    """
    found = [path for path in (root / "config").rglob("*.yaml") if path.is_file()]
    found += (root / "kernels").glob("*/kernel.yaml")
    names = sorted(path.relative_to(root).as_posix() for path in found)
    left_out = (KEYS,) if claims else (KEYS, OWN_CLAIMS)
    return [name for name in names if name not in SITE_FILES and not name.startswith(left_out)]


def _yaml_files(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise BadInput(f"{folder}: holds no .yaml file")
    return files


def _by_id(entries: Iterable[tuple[Path, T]]) -> dict[str, T]:
    """Return entries by id. Raises BadInput, by the second's file, for an id that two have."""
    found: dict[str, T] = {}
    for path, entry in entries:
        if entry.id in found:
            raise BadInput(f"{path}: id '{entry.id}' is given twice")
        found[entry.id] = entry
    return found
