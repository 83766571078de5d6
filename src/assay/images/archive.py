"""An image as one file that engines load: one layer with a fixed configuration."""

import errno
import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.base.errors import MissingEnvironment
from assay.base.progress import exclusive
from assay.images.definition import Definition, labels_of
from assay.shared.files import sha256_bytes, sha256_file

LAYER, MANIFEST = "layer.tar", "manifest.json"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def write_archive(layer: Path, output: Path, definition: Definition) -> tuple[str, str]:
    """Write the archive that ``docker load`` reads; return the image's id and the layer's."""
    epoch = definition.inputs.base.source_date_epoch
    digest = sha256_file(layer)
    created = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    variables = sorted(definition.inputs.environment.items())
    config = _json(
        {
            "architecture": "amd64",
            "config": {
                "Env": [f"{name}={value}" for name, value in variables],
                "Labels": labels_of(definition.inputs, definition.role),
                "WorkingDir": "/",
            },
            "created": created,
            "history": [{"created": created, "created_by": "assay"}],
            "os": "linux",
            "rootfs": {"diff_ids": [f"sha256:{digest}"], "type": "layers"},
        }
    )
    image = sha256_bytes(config)
    manifest = [{"Config": f"{image}.json", "Layers": [LAYER], "RepoTags": [definition.tag]}]
    with tarfile.open(output, "w") as archive:
        with layer.open("rb") as content:
            entry = tarfile.TarInfo(LAYER)
            entry.size, entry.mtime = layer.stat().st_size, epoch
            archive.addfile(entry, content)
        for name, text in ((f"{image}.json", config), (MANIFEST, _json(manifest))):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(text), epoch
            archive.addfile(entry, io.BytesIO(text))
    return f"sha256:{image}", f"sha256:{digest}"


def _json(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def verify_archive(path: Path, tag: str | None = None) -> tuple[str, tuple[str, ...]]:
    """Return image id and layers' digests from an archive's own bytes. Raises OSError, TarError,
    ValueError or KeyError where a part is missing, or it would be named other than ``tag``.
    """
    found: dict[str, str] = {}
    manifest: list[dict[str, Any]] = []
    with tarfile.open(path, "r:") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is None:
                raise ValueError(f"{member.name} is no file")
            if member.name == MANIFEST:
                manifest = json.loads(content.read())
            else:
                found[member.name] = hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]
    if len(manifest) != 1:
        raise ValueError("it does not hold exactly one image")
    if tag is not None and manifest[0].get("RepoTags") != [tag]:
        raise ValueError(f"it would name {manifest[0].get('RepoTags')} instead of {tag}")
    return (
        f"sha256:{found[manifest[0]['Config']]}",
        tuple(f"sha256:{found[name]}" for name in manifest[0]["Layers"]),
    )


@contextmanager
def alone(path: Path, tag: str, making: str) -> Iterator[None]:
    """Hold the place of an image, while others wait. Raises MissingEnvironment: disk, no locks."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        waiting = f"another process makes {tag}; waiting for it"
        with exclusive(path.with_name(f"{path.name}.lock"), waiting):
            yield
    except OSError as error:
        raise MissingEnvironment(disk_sentence(error, making, path.parent)) from error


@contextmanager
def partial(path: Path, making: str) -> Iterator[Path]:
    """A new folder that becomes ``path`` at the end, or is removed. Raises MissingEnvironment."""
    unfinished = path.with_name(f".{path.name}.partial")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        yield unfinished
        unfinished.rename(path)
    except OSError as error:
        raise MissingEnvironment(disk_sentence(error, making, path.parent)) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def disk_sentence(error: OSError, making: str, folder: Path) -> str:
    """Return what an error of the file system means for ``making``."""
    if error.errno in FULL:
        return f"the disk is full while {making}: free some space below {folder} and start again"
    return f"{making} failed below {folder}: {error.strerror or error}"
