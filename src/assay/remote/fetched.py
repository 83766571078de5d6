"""What came from a machine is a stranger's archive: plain files below known names, nothing else."""

import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from assay.base.errors import MissingEnvironment

MOST_BYTES = 20_000_000_000
"""No run makes as much; a machine that sends more has something else in mind."""


def unpack(stream: IO[bytes], places: Mapping[str, str], folder: Path) -> str | None:
    """Write the plain files of an archive below ``folder``; return what is wrong with it, if
    anything is. Links and special files are left out.

    ``places``: path in the archive to the name here; no other file may be in it. Raises
    MissingEnvironment for a full disk here.
    """
    total = 0
    try:
        with tarfile.open(fileobj=stream, mode="r|gz") as tar:
            for entry in tar:
                name = _name_here(entry.name, places)
                if not entry.isreg():
                    continue
                if name is None:
                    return f"sent {entry.name!a}, which is no file of the run"
                total += entry.size
                if total > MOST_BYTES:
                    return "sent more than any run makes"
                _write(tar, entry, folder / name)
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise MissingEnvironment(
                f"what was fetched cannot be written to {folder}: {error.strerror}"
            ) from error
        return f"what it sent is no whole archive ({error})"
    return None


def _name_here(name: str, places: Mapping[str, str]) -> PurePosixPath | None:
    """Return where a file of the archive belongs; None for one that is nowhere asked for."""
    path = PurePosixPath(name)
    if ".." in path.parts:
        return None
    for there, here in places.items():
        if path.is_relative_to(there):
            return PurePosixPath(here) / path.relative_to(there)
    return None


def _write(tar: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> None:
    source = tar.extractfile(entry)
    assert source is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as target:
        while chunk := source.read(1 << 20):
            target.write(chunk)
    path.chmod(0o755 if entry.mode & 0o100 else 0o644)
