"""One archive that runs ``reproduce`` on a machine with no network at all.

It holds this checkout's files, the wheels of the host environment, the kernels compiled here, and
the image they were compiled in.
"""

import io
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assay.base.errors import MissingEnvironment
from assay.base.source_files import source_files
from assay.building.toolchain import DATE
from assay.shared.files import sha256_bytes, sha256_file, whole_file

RUN_SCRIPT = "tools/bundle_run.sh"


@dataclass(frozen=True)
class BundleContents:
    """The contents of a bundle."""

    target: str
    commit: str | None
    """Commit of the source; None for a tree with changes of its own, which has no name."""
    pythons: tuple[str, ...]
    """Versions the wheels are for: "3.11"."""
    wheels: Path
    """Directory of the host environment's distributions."""
    run_dir: Path
    """``results/<run>`` with builds, inspections and the images' records."""
    images: dict[str, Path]
    """Role to the folder of that image: archive, record, bill of materials."""
    image_id: str | None
    """The toolchain image's, in which the bundle runs where there is no Python."""


def pack(root: Path, contents: BundleContents, output: Path) -> None:
    """Write the bundle to ``output`` whole or not at all.

    Equal contents give equal bytes. Raises MissingEnvironment when the disk is full or cannot be
    written.
    """
    top = f"assay-{contents.target}"
    try:
        with whole_file(output) as raw, tarfile.open(fileobj=raw, mode="w|") as tar:
            sums = []
            for name, path in _files(root, contents):
                sums.append(f"{sha256_file(path)}  {name}\n")
                with path.open("rb") as file:
                    _add(tar, f"{top}/{name}", file, path.stat().st_size, _mode(path))
            text = _environment(contents).encode()
            sums.append(f"{sha256_bytes(text)}  bundle.env\n")
            _add(tar, f"{top}/bundle.env", io.BytesIO(text), len(text), 0o644)
            listed = "".join(sums).encode()
            _add(tar, f"{top}/SHA256SUMS", io.BytesIO(listed), len(listed), 0o644)
    except OSError as error:
        raise MissingEnvironment(f"{output}: cannot be written: {error.strerror}") from error


def _files(root: Path, contents: BundleContents) -> Iterator[tuple[str, Path]]:
    """Name inside the bundle and path of every file, the run script first."""
    yield "run.sh", root / RUN_SCRIPT
    for name in source_files(root):
        yield f"source/{name}", root / name
    yield from _below("wheels", contents.wheels, contents.wheels.iterdir())
    kept = [contents.run_dir / "inspections.json"]
    for folder in ("builds", "images"):
        kept += (contents.run_dir / folder).rglob("*")
    yield from _below("prebuilt", contents.run_dir, kept)
    for role, image in sorted(contents.images.items()):
        yield from _below(f"prebuilt/images/{contents.target}/{role}", image, image.iterdir())


def _below(name: str, folder: Path, paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    for path in sorted(paths):
        if path.is_file():
            yield f"{name}/{path.relative_to(folder).as_posix()}", path


def _mode(path: Path) -> int:
    return 0o755 if path.stat().st_mode & 0o100 else 0o644


def _add(tar: tarfile.TarFile, name: str, file: IO[bytes], size: int, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = size, mode, DATE
    tar.addfile(entry, file)


def _environment(contents: BundleContents) -> str:
    """Return what run.sh reads: shell assignments."""
    values: Sequence[tuple[str, str]] = (
        ("BUNDLE_TARGET", contents.target),
        ("BUNDLE_COMMIT", contents.commit or ""),
        ("BUNDLE_PYTHONS", " ".join(contents.pythons)),
        ("BUNDLE_IMAGE", contents.image_id or ""),
    )
    return "".join(f"{name}='{value}'\n" for name, value in values)
