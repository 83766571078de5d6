"""The image of a role, ready to run: from engine, cache or bundle, or made.

A cached image is a folder ``results/cache/images/<definition>`` with the archive that engines load
and its record. The record's digests say whether the archive is whole.
"""

import json
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assay.base.errors import BadInput, CheckFailed, MissingEnvironment
from assay.base.io import read_record, write_record
from assay.base.pip_locks import normal
from assay.base.progress import say
from assay.base.writable import cache_folder
from assay.images.archive import LAYER, alone, partial, verify_archive, write_archive
from assay.images.debian import make_layer
from assay.images.definition import Definition, define
from assay.images.wheels import Wheel
from assay.records.images import (
    DebianPackage,
    ImageBase,
    ImageRecord,
    PythonPackage,
    Role,
    RuntimeName,
)
from assay.runtimes.engine import EngineRuntime

IMAGES = "images"
"""Folder of images in the cache, and in a bundle."""
ARCHIVE, RECORD = "image.tar", "record.json"


def obtain(
    root: Path,
    target: str,
    role: Role,
    engine: EngineRuntime | None,
    runtime: RuntimeName,
    *,
    prebuilt: Path | None = None,
) -> ImageRecord:
    """Record of an image that ``engine`` holds, or an archive; of the bundle ``prebuilt`` first.
    Raises CheckFailed for another digest, MissingEnvironment where it can be neither found nor
    made.
    """
    definition = define(root, role)
    cache = image_folder(root, definition.digest)
    bundled = prebuilt_folder(prebuilt, target, role) if prebuilt else cache
    with alone(cache, definition.tag, f"getting the image {definition.tag}"):
        folder = bundled if bundled.is_dir() else cache
        if not folder.is_dir():
            make(definition, target, runtime, folder)
        record = read_image(folder, definition)
        if engine is None:
            _verify(folder, record)
        else:
            record = _into_engine(engine, folder, record)
        return record.model_copy(update={"runtime": runtime, "target": target})


def image_folder(root: Path, digest: str) -> Path:
    """Return where the image of a definition lies."""
    return cache_folder(root) / IMAGES / digest


def prebuilt_folder(prebuilt: Path, target: str, role: Role) -> Path:
    """Return where a bundle carries an image."""
    return prebuilt / IMAGES / target / role


def folder_of(root: Path, record: ImageRecord, prebuilt: Path | None = None) -> Path:
    """Return the folder of a record's archive. Raises MissingEnvironment when it is gone."""
    folders = [image_folder(root, record.definition)]
    if prebuilt is not None:
        folders.insert(0, prebuilt_folder(prebuilt, record.target, record.role))
    for folder in folders:
        if (folder / RECORD).is_file():
            return folder
    raise MissingEnvironment(f"{folders[-1]} is gone: make the image {record.tag} again")


def make(definition: Definition, target: str, runtime: RuntimeName, folder: Path) -> None:
    """Make an image into ``folder``, whole or absent. Raises AssayError, OSError."""
    say(f"making the image {definition.tag} from Debian packages and wheels")
    with partial(folder, f"making the image {definition.tag}") as unfinished:
        layer, listing = unfinished / LAYER, unfinished / "packages.json"
        wheels = make_layer(definition, layer, listing)
        size = layer.stat().st_size
        image_id, digest = write_archive(layer, unfinished / ARCHIVE, definition)
        packages = listing.read_text()
        layer.unlink()
        listing.unlink()
        inputs = definition.inputs.base
        made = f"{inputs.suite}/{inputs.component}, SOURCE_DATE_EPOCH={inputs.source_date_epoch}"
        record = image_record(
            packages,
            wheels,
            target=target,
            role=definition.role,
            runtime=runtime,
            engine="mmdebstrap",
            definition=definition.digest,
            tag=definition.tag,
            image_id=image_id,
            layers=(digest,),
            bytes=size,
            base=ImageBase(kind="debian", reference=made, sha256=None),
        )
        write_record(record, unfinished / RECORD)


def image_record(listed: str, wheels: Iterable[Wheel], **facts: Any) -> ImageRecord:
    """Return a record by what was ``listed`` in it. Raises CheckFailed for another wheel."""
    answer = json.loads(listed)
    files = {(wheel.name, wheel.path.name.split("-")[1]): wheel for wheel in wheels}
    installed = []
    for name, version in sorted((normal(name), version) for name, version in answer["python"]):
        wheel = files.pop((name, version), None)
        file, digest = (wheel.path.name, wheel.sha256) if wheel else (None, None)
        installed.append(PythonPackage(name=name, version=version, file=file, sha256=digest))
    if files:
        wheel = next(iter(files.values()))
        raise CheckFailed(f"the image does not hold {wheel.path.name}, which it was made from")
    return ImageRecord(
        schema="assay/image/1",
        architecture="amd64",
        dockerfile_sha256=None,
        debian_packages=tuple(
            DebianPackage(name=name, version=version, architecture=architecture)
            for name, version, architecture in answer["debian"]
        ),
        python_packages=tuple(installed),
        nsight_compute=answer["ncu"],
        **facts,
    )


def read_image(folder: Path, definition: Definition) -> ImageRecord:
    """Return the record of a folder. Raises CheckFailed when it is not that of ``definition``."""
    try:
        record = read_record(ImageRecord, folder / RECORD)
    except BadInput as error:
        raise CheckFailed(f"{error}; remove {folder} and start again") from error
    if (record.role, record.definition) != (definition.role, definition.digest):
        raise CheckFailed(
            f"{folder}: holds {record.tag}, and this checkout defines {definition.tag}: use the "
            "checkout that the image was made with, or make the image again"
        )
    return record


def _verify(folder: Path, record: ImageRecord) -> None:
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


def _into_engine(engine: EngineRuntime, folder: Path, record: ImageRecord) -> ImageRecord:
    """Load the archive unless the engine has it; the record as this engine tells it."""
    found = engine.image(record.tag)
    if found is None:
        _verify(folder, record)
        say(f"loading the image {record.tag}")
        archive = str(folder / ARCHIVE)
        engine.ask("load", "--quiet", "--input", archive, doing="loading an image")
        found = engine.image(record.tag)
        if found is None:
            raise CheckFailed(f"the engine loaded {archive} and has no {record.tag}")
    check_found(found, record)
    return record.model_copy(update={"engine": engine.describe(), "image_id": found["Id"]})


def check_found(found: Mapping[str, Any], record: ImageRecord) -> None:
    """Raise CheckFailed unless the engine's image, of whatever id, has the record's layers."""
    if found.get("Architecture") != record.architecture:
        raise CheckFailed(
            f"{record.tag} is for {found.get('Architecture')} and this machine needs "
            f"{record.architecture}: remove it (docker image rm {record.tag}) and start again"
        )
    if tuple((found.get("RootFS") or {}).get("Layers") or ()) != record.layers:
        raise CheckFailed(
            f"{record.tag} now stands for {found['Id']} and not for {record.image_id}: its digest "
            "changed under its tag; remove it (docker or podman image rm "
            f"{record.tag}) and start again"
        )
