"""An image as one file: a normalised layer with a fixed configuration, as engines load it."""

import hashlib
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.images.disk import CHUNK, working
from assay.images.layer import BLOCK, Layer, layer_size, read_index, write_layer
from assay.shared.files import sha256_bytes

LAYER = "layer.tar"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class ImageConfig:
    """The configuration of an image: all that it holds beside its files."""

    environment: Mapping[str, str]
    labels: Mapping[str, str]
    epoch: int

    def document(self, layer_sha256: str) -> bytes:
        """Return the configuration; its SHA-256 is the image's id."""
        created = datetime.fromtimestamp(self.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return _json(
            {
                "architecture": "amd64",
                "config": {
                    "Env": [f"{name}={value}" for name, value in sorted(self.environment.items())],
                    "Labels": dict(sorted(self.labels.items())),
                    "WorkingDir": "/",
                },
                "created": created,
                "history": [{"created": created, "created_by": "assay"}],
                "os": "linux",
                "rootfs": {"diff_ids": [f"sha256:{layer_sha256}"], "type": "layers"},
            }
        )


@dataclass(frozen=True)
class Archive:
    """The contents of an archive."""

    image_id: str
    layer: Layer


def write_archive(exported: Path, output: Path, config: ImageConfig, tag: str) -> Archive:
    """Write the archive that ``docker load`` reads from a container's exported file system.

    Raises tarfile.TarError and OSError.
    """
    with exported.open("rb") as stream:
        entries = read_index(stream, config.epoch)
    size = layer_size(entries)
    with output.open("wb") as stream, working():
        stream.write(_header(LAYER, size, config.epoch))
        layer = write_layer(exported, entries, stream)
        stream.write(bytes(-size % BLOCK))
        document = config.document(layer.sha256)
        image = sha256_bytes(document)
        manifest = [{"Config": f"{image}.json", "Layers": [LAYER], "RepoTags": [tag]}]
        for name, content in ((f"{image}.json", document), (MANIFEST, _json(manifest))):
            stream.write(_header(name, len(content), config.epoch))
            stream.write(content + bytes(-len(content) % BLOCK))
        stream.write(bytes(2 * BLOCK))
        stream.flush()
        os.fsync(stream.fileno())
    return Archive(image_id=f"sha256:{image}", layer=layer)


def tar_chunks(members: Mapping[str, Path | bytes], epoch: int) -> Iterator[bytes]:
    """Yield a tar archive of files and texts, a piece at a time: what an engine builds from."""
    for name, content in sorted(members.items()):
        size = content.stat().st_size if isinstance(content, Path) else len(content)
        yield _header(name, size, epoch)
        if isinstance(content, Path):
            with content.open("rb") as stream:
                while chunk := stream.read(CHUNK):
                    yield chunk
        else:
            yield content
        yield bytes(-size % BLOCK)
    yield bytes(2 * BLOCK)


def _header(name: str, size: int, epoch: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, epoch, 0o644
    return info.tobuf(tarfile.PAX_FORMAT)


def _json(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def verify_archive(path: Path, tag: str | None = None) -> tuple[str, tuple[str, ...]]:
    """Image id and layers' digests, computed from an archive's own bytes.

    Raises OSError, tarfile.TarError, and ValueError or KeyError where a part is missing, or where
    loading it would name anything but ``tag``.
    """
    found: dict[str, str] = {}
    manifest: list[dict[str, Any]] = []
    with path.open("rb") as stream, tarfile.open(fileobj=stream, mode="r:") as archive, working():
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
