"""The catalog: every claim, target, workload, comparison and kernel, read and cross-checked."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from assay.base.errors import BadInput
from assay.base.io import load_yaml
from assay.catalog.model import NO_TUNING, Catalog
from assay.catalog.references import check_references
from assay.records.claims import (
    Audit,
    Claim,
    ClaimsFile,
)
from assay.records.kernels import KernelManifest
from assay.records.rivals import Rival, RivalsFile
from assay.records.targets import Target
from assay.records.tuning import TuningFile
from assay.records.workloads import ComparisonsFile, Judging, ProtocolsFile, WorkloadsFile

T = TypeVar("T")


def load_catalog(root: Path) -> Catalog:
    """Read ``config/`` and ``kernels/*/kernel.yaml`` below ``root`` and check every reference.

    Works on the repository and on a report's evidence directory alike. Raises BadInput.
    """
    sources: dict[str, ClaimsFile] = {}
    claims: dict[str, Claim] = {}
    audits: dict[str, Audit] = {}
    source_of: dict[str, str] = {}
    for path in _yaml_files(root / "config" / "claims"):
        claims_file = load_yaml(ClaimsFile, path)
        if path.stem != claims_file.source.id:
            raise BadInput(f"{path}: its source id is '{claims_file.source.id}', not the file name")
        sources[claims_file.source.id] = claims_file
        entries: tuple[Claim | Audit, ...] = (*claims_file.claims, *claims_file.audits)
        for entry in entries:
            if entry.id in source_of:
                other = source_of[entry.id]
                raise BadInput(f"{path}: claim id '{entry.id}' is given twice (see {other}.yaml)")
            source_of[entry.id] = claims_file.source.id
        claims.update((claim.id, claim) for claim in claims_file.claims)
        audits.update((audit.id, audit) for audit in claims_file.audits)

    kernels = [
        (path, load_yaml(KernelManifest, path))
        for path in sorted((root / "kernels").glob("*/kernel.yaml"))
    ]
    catalog = Catalog(
        sources=sources,
        claims=claims,
        audits=audits,
        source_of=source_of,
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
        tuning=_tuning(root / "config" / "tuning.yaml"),
        operators=tuple(entry for _, kernel in kernels for entry in kernel.operators),
        rivals=_rivals(root / "config" / "rivals.yaml"),
    )
    check_references(catalog)
    return catalog


def catalog_files(root: Path) -> list[str]:
    """Return what a catalog is read from and a report carries of it, relative to ``root``."""
    found = [path for path in (root / "config").rglob("*.yaml") if path.is_file()]
    found += (root / "kernels").glob("*/kernel.yaml")
    return sorted(path.relative_to(root).as_posix() for path in found)


def _tuning(path: Path) -> TuningFile:
    return load_yaml(TuningFile, path) if path.is_file() else NO_TUNING


def _rivals(path: Path) -> dict[str, Rival]:
    if not path.is_file():
        return {}
    return _unique((rival.id, rival, path) for rival in load_yaml(RivalsFile, path).rivals)


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
