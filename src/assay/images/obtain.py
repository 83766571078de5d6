"""The image of a target and role, ready to run: from engine, cache or bundle, or made.

A cached image is a folder ``results/cache/images/<definition>`` with the archive that engines load
and its record. The record's digests say whether the archive is whole.
"""

import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker

from assay.base.cache_place import cache_folder
from assay.base.errors import BadInput, CheckFailed, MissingEnvironment
from assay.base.io import read_record
from assay.base.progress import exclusive, say
from assay.images import engine_work
from assay.images.archive import verify_archive
from assay.images.definition import Definition, define
from assay.images.disk import disk_sentence
from assay.images.make import ARCHIVE, RECORD, engine_name, make
from assay.records.images import ImageRecord, Role, RuntimeName
from assay.records.platform import Target

IMAGES = "images"
"""Folder of images in the cache, and in a bundle."""


def obtain(
    root: Path,
    target: Target,
    role: Role,
    client: docker.DockerClient | None,
    runtime: RuntimeName,
    *,
    prebuilt: Path | None = None,
) -> ImageRecord:
    """Record of an image that ``client`` holds under its tag; without one, of an archive on disk.

    ``prebuilt`` is an unpacked bundle, looked into first. Raises CheckFailed for whatever has
    another digest than it should, MissingEnvironment where the image can be neither found nor made.
    """
    definition = define(root, target, role)
    cache = image_folder(root, definition.digest)
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        waiting = f"another process makes {definition.tag}; waiting for it"
        with exclusive(cache.with_name(cache.name + ".lock"), waiting):
            folder = _find(root, definition, client, runtime, prebuilt)
            record = read_image(folder, definition)
            if client is None:
                _verify(folder, record)
                return record.model_copy(update={"runtime": runtime})
            return _into_engine(client, runtime, folder, record)
    except OSError as error:
        raise MissingEnvironment(
            disk_sentence(error, f"getting the image {definition.tag}", cache.parent)
        ) from error


def image_folder(root: Path, digest: str) -> Path:
    """Return where the image of a definition lies."""
    return cache_folder(root) / IMAGES / digest


def prebuilt_folder(prebuilt: Path, target: str, role: Role) -> Path:
    """Return where a bundle carries an image."""
    return prebuilt / IMAGES / target / role


def folder_of(root: Path, record: ImageRecord, prebuilt: Path | None = None) -> Path:
    """Return the folder that holds a record's archive.

    Raises MissingEnvironment when there is none any more.
    """
    folders = [image_folder(root, record.definition)]
    if prebuilt is not None:
        folders.insert(0, prebuilt_folder(prebuilt, record.target, record.role))
    for folder in folders:
        if (folder / RECORD).is_file():
            return folder
    raise MissingEnvironment(f"{folders[-1]} is gone: make the image {record.tag} again")


def _find(
    root: Path,
    definition: Definition,
    client: docker.DockerClient | None,
    runtime: RuntimeName,
    prebuilt: Path | None,
) -> Path:
    """Return the image's folder, made where nobody has it."""
    if prebuilt is not None:
        folder = prebuilt_folder(prebuilt, definition.target.id, definition.role)
        if folder.is_dir():
            return folder
    folder = image_folder(root, definition.digest)
    if not folder.is_dir():
        if client is None:
            raise MissingEnvironment(
                f"there is no archive of {definition.tag} and {runtime} cannot build one: make it "
                "where Docker or Podman runs (./assay lab image), or use a bundle"
            )
        make(root, definition, client, runtime, folder)
    return folder


def read_image(folder: Path, definition: Definition) -> ImageRecord:
    """Return the record of a folder. Raises CheckFailed when it is not the one of
    ``definition``.
    """
    try:
        record = read_record(ImageRecord, folder / RECORD)
    except BadInput as error:
        raise CheckFailed(f"{error}; remove {folder} and start again") from error
    named = (record.target, record.role, record.definition)
    if named != (definition.target.id, definition.role, definition.digest):
        raise CheckFailed(
            f"{folder}: holds {record.tag}, and this checkout defines {definition.tag}: use the "
            "checkout that the image was made with, or make the image again"
        )
    return record


def _verify(folder: Path, record: ImageRecord) -> None:
    """Raise CheckFailed unless the archive holds what the record says."""
    path = folder / ARCHIVE
    try:
        image, layers = verify_archive(path, record.tag)
    except (OSError, tarfile.TarError, ValueError, KeyError, TypeError) as error:
        raise CheckFailed(
            f"{path}: cannot be read as an image ({error}); remove {folder} and start again"
        ) from error
    if image != record.image_id or layers != record.layers:
        raise CheckFailed(
            f"{path}: holds the image {image} and its record says {record.image_id}, or a layer "
            f"was changed; it is not used: remove {folder} and start again"
        )


def _into_engine(
    client: docker.DockerClient, runtime: RuntimeName, folder: Path, record: ImageRecord
) -> ImageRecord:
    """Load the archive unless the engine has it; the record as this engine tells it."""
    found = engine_work.inspect(client, record.tag)
    if found is None:
        _verify(folder, record)
        say(f"loading the image {record.tag}")
        engine_work.load(client, folder / ARCHIVE)
        found = engine_work.inspect(client, record.tag)
        if found is None:
            raise CheckFailed(f"the engine loaded {folder / ARCHIVE} and has no {record.tag}")
    check_found(found, record, by_manifest=engine_work.names_by_manifest(client))
    return record.model_copy(
        update={
            "runtime": runtime,
            "engine": engine_name(client),
            "image_id": found["Id"],
        }
    )


def check_found(found: Mapping[str, Any], record: ImageRecord, *, by_manifest: bool) -> None:
    """Raise CheckFailed unless the engine's image under the tag is the record's.

    ``by_manifest``: the engine takes a manifest's digest for an image's id, which is its own; then
    layers and architecture decide.
    """
    if found.get("Architecture") != record.architecture:
        raise CheckFailed(
            f"{record.tag} is for {found.get('Architecture')} and this machine needs "
            f"{record.architecture}: remove it (docker image rm {record.tag}) and start again"
        )
    layers = tuple((found.get("RootFS") or {}).get("Layers") or ())
    same_id = by_manifest or found["Id"] == record.image_id
    if not same_id or layers != record.layers:
        tool = "podman" if record.runtime == "podman" else "docker"
        raise CheckFailed(
            f"{record.tag} now stands for {found['Id']} and not for {record.image_id}: its digest "
            f"changed under its tag; remove it ({tool} image rm {record.tag}) and start again"
        )
