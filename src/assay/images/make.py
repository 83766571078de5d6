"""Making an image from its definition: base, wheels, build, archive, record."""

import os
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker

from assay.base.cache_place import cache_folder
from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import write_record
from assay.base.progress import say
from assay.images import engine_work
from assay.images.archive import Archive, ImageConfig, tar_chunks, write_archive
from assay.images.base import ensure_base
from assay.images.definition import Definition, pip_entry
from assay.images.disk import chunks_of, partial
from assay.images.installed_packages import InstalledPackages, read_packages
from assay.images.wheels import Wheel, ensure_wheels
from assay.records.images import ImageBase, ImageRecord, RuntimeName
from assay.runtimes.connection import product
from assay.shared.files import sha256_bytes, write_bytes

ARCHIVE, RECORD = "image.tar", "record.json"
PIP_TEXT = "pip.txt"


@dataclass(frozen=True)
class _Inputs:
    """The inputs of the build."""

    wheels: list[Wheel]
    pip: Path
    base: ImageBase
    base_archive: Path


def make(
    root: Path,
    definition: Definition,
    client: docker.DockerClient,
    runtime: RuntimeName,
    folder: Path,
) -> None:
    """Build an image into ``folder``: archive and record, whole or absent.

    Nothing stays in the engine but the image itself, under its tag. Raises MissingEnvironment,
    CheckFailed and OSError.
    """
    say(f"making the image {definition.tag}")
    inputs = _gather(root, definition)
    config = ImageConfig(
        environment=definition.inputs.environment,
        labels=definition.labels,
        epoch=definition.inputs.base.source_date_epoch,
    )
    with partial(folder, f"making the image {definition.tag}") as unfinished:
        unfinished.mkdir(parents=True)
        spool = unfinished / "export.tar"
        try:
            _build(client, definition, inputs, spool)
            say("sorting and dating the image's files")
            archive = write_archive(spool, unfinished / ARCHIVE, config, definition.tag)
        except tarfile.TarError as error:
            raise MissingEnvironment(f"the engine's export cannot be read: {error}") from error
        finally:
            spool.unlink(missing_ok=True)
        _load(client, definition, archive, unfinished / ARCHIVE)
        try:
            sites = (definition.mine.site,) if definition.mine.site else ()
            write_image_record(
                unfinished,
                read_packages(client, definition.tag, sites, inputs.wheels),
                target=definition.target.id,
                role=definition.role,
                runtime=runtime,
                engine=engine_name(client),
                definition=definition.digest,
                tag=definition.tag,
                image_id=archive.image_id,
                layers=(f"sha256:{archive.layer.sha256}",),
                bytes=archive.layer.content_bytes,
                base=inputs.base,
                dockerfile_sha256=sha256_bytes(definition.dockerfile.encode()),
            )
        except BaseException:
            engine_work.remove_images(client, [definition.tag])
            raise


def write_image_record(folder: Path, packages: InstalledPackages, **facts: Any) -> ImageRecord:
    """Write an image's record; ``facts``: its other fields."""
    record = ImageRecord(
        schema="assay/image/1",
        architecture="amd64",
        debian_packages=packages.debian,
        python_packages=packages.python,
        nsight_compute=packages.nsight_compute,
        **facts,
    )
    write_record(record, folder / RECORD)
    return record


def _load(client: docker.DockerClient, definition: Definition, made: Archive, path: Path) -> None:
    """Load what was made, unless the tag stands for something else already.

    Raises CheckFailed in that case: loading would move the tag silently.
    """
    found = engine_work.inspect(client, definition.tag)
    if found is not None:
        layers = tuple((found.get("RootFS") or {}).get("Layers") or ())
        if layers != (f"sha256:{made.layer.sha256}",):
            raise CheckFailed(
                f"{definition.tag} stands for {found['Id']} in the engine, and this checkout makes "
                f"{made.image_id}: its digest changed under its tag; remove it (docker or podman "
                f"image rm {definition.tag}) and start again"
            )
    engine_work.load(client, path)


def engine_name(client: docker.DockerClient) -> str:
    """Name and version of an engine, as one phrase."""
    with engine_work.asking(client, "asking for its version"):
        return product(client.version())


def _gather(root: Path, definition: Definition) -> _Inputs:
    """Base and wheels, made or downloaded where the cache lacks them."""
    cache, environ = cache_folder(root), dict(os.environ)
    wheels = ensure_wheels(cache / "wheels", definition.lock, environ)
    pip_lock = cache / "wheels" / PIP_TEXT
    write_bytes(pip_lock, pip_entry(root).encode())
    pip = ensure_wheels(cache / "wheels", pip_lock, environ)[0].path
    inputs, packages = definition.inputs.base, definition.mine.debian_packages
    archive, digest = ensure_base(cache / "images", inputs, packages, environ)
    reference = f"{inputs.suite}/{inputs.component}, SOURCE_DATE_EPOCH={inputs.source_date_epoch}"
    base = ImageBase(kind="debian", reference=reference, sha256=digest)
    return _Inputs(wheels, pip, base, archive)


def _build(
    client: docker.DockerClient, definition: Definition, inputs: _Inputs, spool: Path
) -> None:
    """Build the Dockerfile, export its file system to ``spool``, remove all made on the way."""
    members: dict[str, Path | bytes] = {
        "Dockerfile": definition.dockerfile.encode(),
        "inputs/lock.txt": definition.lock.read_bytes(),
        f"inputs/{inputs.pip.name}": inputs.pip,
        **{f"inputs/wheels/{wheel.path.name}": wheel.path for wheel in inputs.wheels},
    }
    context = tar_chunks(members, definition.inputs.base.source_date_epoch)
    leftovers = [engine_work.import_stream(client, chunks_of(inputs.base_archive))]
    try:
        image, made = engine_work.build(client, context, leftovers[0])
        leftovers = [image, *reversed(made), *leftovers]
        engine_work.export(client, image, spool)
    finally:
        engine_work.remove_images(client, leftovers)
