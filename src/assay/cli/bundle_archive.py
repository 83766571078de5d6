"""One archive that runs ``reproduce`` on a machine with no network at all.

It holds this checkout's files, the wheels of the host environment, the kernels compiled here, and
the image they were compiled in.
"""

import tarfile
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

from assay.base.errors import MissingEnvironment
from assay.base.source_files import source_files
from assay.building.toolchain import DATE
from assay.shared.files import sha256_bytes, sha256_file, whole_file


def pack(top: str, files: Iterable[tuple[str, Path]], environment: str, output: Path) -> None:
    """Write the bundle to ``output`` whole or not at all; equal contents give equal bytes.

    ``top``: its folder; ``environment``: shell assignments that run.sh reads. Raises
    MissingEnvironment when the disk is full or cannot be written.
    """
    try:
        with whole_file(output) as raw, tarfile.open(fileobj=raw, mode="w|") as tar:
            sums = []
            for name, path in files:
                sums.append(f"{sha256_file(path)}  {name}\n")
                mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                with path.open("rb") as file:
                    _add(tar, f"{top}/{name}", file, path.stat().st_size, mode)
            sums.append(f"{sha256_bytes(environment.encode())}  bundle.env\n")
            for name, text in (("bundle.env", environment), ("SHA256SUMS", "".join(sums))):
                _add(tar, f"{top}/{name}", BytesIO(text.encode()), len(text.encode()), 0o644)
    except OSError as error:
        raise MissingEnvironment(f"{output}: cannot be written: {error.strerror}") from error


def bundle_files(
    root: Path, target: str, wheels: Path, run_dir: Path, image: Path | None
) -> Iterator[tuple[str, Path]]:
    """Yield the name inside the bundle and the path of every file, the run script first.

    ``wheels``: folder of the host environment's distributions; ``run_dir``: ``results/<run>`` with
    builds, inspections and the images' records; ``image``: folder of the toolchain's image.
    """
    yield "run.sh", root / "tools" / "bundle_run.sh"
    for name in source_files(root):
        yield f"source/{name}", root / name
    yield from _below("wheels", wheels)
    yield "prebuilt/inspections.json", run_dir / "inspections.json"
    for folder in ("builds", "images"):
        yield from _below(f"prebuilt/{folder}", run_dir / folder)
    if image is not None:
        yield from _below(f"prebuilt/images/{target}/toolchain", image)


def _below(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield f"{name}/{path.relative_to(folder).as_posix()}", path


def _add(tar: tarfile.TarFile, name: str, file: IO[bytes], size: int, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = size, mode, DATE
    tar.addfile(entry, file)
