"""The build stage: a record and an artifact for every variant, program and probe.

An artifact comes from the cache, or from a directory that another machine filled, when sources,
command and toolchain lock are what this checkout would compile.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_record, write_record
from assay.base.progress import exclusive
from assay.building.nvcc import compiled, file_digest
from assay.building.occupancy import occupancy
from assay.building.recipe import Compilation, Kind, Tree, describe
from assay.building.toolchain import Toolchain, ensure_toolchain, toolchain_lock_digest
from assay.catalog.model import Catalog
from assay.records.builds import BuildRecord
from assay.runtimes.base import Place
from assay.shared.files import sha256_file, whole_file

Built: TypeAlias = tuple[BuildRecord, Path | None]
"""A record, and the artifact that it describes, if there is one."""
RECORD = "record.json"


def build(
    root: Path,
    catalog: Catalog,
    kind: Kind,
    artifact: str,
    arch: str,
    *,
    out_dir: Path,
    cache_dir: Path,
    place: Place,
    prebuilt: Path | None = None,
    project: Path | None = None,
) -> BuildRecord:
    """Write ``out_dir/<arch>/<id>.json`` and, when it compiles, the artifact beside it.

    ``place`` is where the compiler runs; each image has a cache of its own, and so has the host.
    ``prebuilt`` is the ``out_dir`` of another machine; the toolchain is asked for only when neither
    it nor the cache has the artifact. ``project``: the folder of its files. A compiler's refusal is
    a record with status ``failed``. Raises BadInput (no such artifact), CheckFailed (a prebuilt
    file that is not what its record says), MissingEnvironment (no compiler).
    """
    job = describe(root, catalog, kind, artifact, arch, toolchain_lock_digest(root), project)
    image = f".{place.image.image_id.removeprefix('sha256:')[:12]}" if place.image else ""
    cached = cache_dir / "builds" / f"{job.key}{image}"
    found = _from_cache(job, cached) or (_from_elsewhere(job, prebuilt) if prebuilt else None)
    if found is None:
        cached.parent.mkdir(parents=True, exist_ok=True)
        waiting = f"another process compiles {job.id} for {job.arch}; waiting for it"
        with exclusive(cached.with_name(f"{cached.name}.lock"), waiting):
            found = _from_cache(job, cached)
            if found is None:
                toolchain = ensure_toolchain(root, place)
                constants = catalog.dynamic_shared.get(job.command[-1], {})
                found = _compile(job, Tree(root, project), cached, toolchain, constants)
    record, file = found
    if record.artifact is not None and file is not None:
        _copy(file, out_dir / record.artifact.path)
    write_record(record, out_dir / arch / f"{artifact}.json")
    return record


def _from_cache(job: Compilation, folder: Path) -> Built | None:
    """An earlier build with this key, as whole as its record says, or None."""
    try:
        record = read_record(BuildRecord, folder / RECORD)
    except BadInput:  # none, or by a version that wrote another form
        return None
    if record.key != job.key or record.artifact is None:
        return (record, None) if record.key == job.key else None
    file = folder / job.output
    whole = file.is_file() and sha256_file(file) == record.artifact.sha256
    return (record, file) if whole and record.code_sha256 is not None else None


def _from_elsewhere(job: Compilation, folder: Path) -> Built | None:
    """Another machine's build of the same sources by the same command, or None."""
    path = folder / job.arch / f"{job.id}.json"
    if not path.is_file():
        return None
    record = read_record(BuildRecord, path)
    if (record.command, record.sources) != (job.command, job.sources) or record.key != job.key:
        return None
    record = record.model_copy(update={"built_elsewhere": True})
    if record.artifact is None:
        return record, None
    file = folder / job.arch / job.output
    if not file.is_file() or sha256_file(file) != record.artifact.sha256:
        raise CheckFailed(f"{file}: is not the artifact that {path} describes")
    return record, file


def _compile(
    job: Compilation, tree: Tree, cached: Path, toolchain: Toolchain, constants: Mapping[str, str]
) -> Built:
    shutil.rmtree(cached, ignore_errors=True)
    file: Path | None = None
    with compiled(job, tree, toolchain) as outcome:
        if outcome.artifact is not None:
            file = cached / job.output
            _copy(outcome.artifact, file)
        held = occupancy(job, outcome, constants, toolchain)
    artifact = None
    if file is not None:
        artifact = file_digest(file).model_copy(update={"path": f"{job.arch}/{job.output}"})
    said = {name: value for name, value in vars(outcome).items() if name != "artifact"}
    record = BuildRecord(
        schema="assay/build/1",
        id=job.id,
        kind=job.kind,
        arch=job.arch,
        status="failed" if artifact is None else "built",
        command=job.command,
        sources=job.sources,
        key=job.key,
        artifact=artifact,
        occupancy=held,
        toolchain=toolchain.record,
        built_elsewhere=False,
        **said,
    )
    write_record(record, cached / RECORD)
    return record, file


def _copy(source: Path, target: Path) -> None:
    """Copy a file whole or not at all, executable for all: containers run under other users."""
    with source.open("rb") as content, whole_file(target, 0o755) as stream:
        shutil.copyfileobj(content, stream)
