"""Is the unpacked toolchain still what its wheels hold? Their own RECORD files say what that is.

A compiler that was replaced would build, and what it builds would be signed. All of it is read at
the start of a run: some 450 MB, in about a second.
"""

import base64
import csv
import hashlib
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from assay.base.cache_place import own_cache
from assay.base.errors import CheckFailed
from assay.building.toolchain import FOLDER, OUR_LINKS, toolchain_directory

CODE = "toolchain"
WORKERS = 8
"""Files at once: hashing lets go of Python's lock."""
NAMED = 3
"""Files that the sentence names."""


def require_sound_toolchain(root: Path) -> None:
    """Check every file of the unpacked toolchain, where there is one.

    Raises CheckFailed with the names of files that are changed, missing or in none of its wheels.
    """
    if own_cache() is None and not (root / FOLDER).is_dir():
        return
    site = toolchain_directory(root)
    if site.is_dir() and (bad := sorted(_unsound(site))):
        told = ", ".join(bad[:NAMED]) + (f" and {len(bad) - NAMED} more" if bad[NAMED:] else "")
        raise CheckFailed(
            f"the CUDA toolchain in {site} is not what its wheels hold ({told}): remove that "
            "directory, so that it is unpacked again",
            code=CODE,
        )


def _unsound(site: Path) -> Iterator[str]:
    """Yield what is wrong, one name with one word each."""
    listed = _listed(site)
    found = set(_files(site))
    yield from (f"{name} is missing" for name in listed.keys() - found)
    yield from (f"{name} is in no wheel" for name in found - listed.keys() - OUR_LINKS.keys())
    for name, target in OUR_LINKS.items():
        link = site / name
        if not link.is_symlink() or str(link.readlink()) != target:
            yield f"{name} is changed"
    names = sorted(name for name in found & listed.keys() if listed[name])
    with ThreadPoolExecutor(WORKERS) as pool:
        digests = pool.map(lambda name: _digest(site / name), names)
        yield from (
            f"{name} is changed"
            for name, digest in zip(names, digests, strict=True)
            if digest != listed[name]
        )


def _listed(site: Path) -> Mapping[str, str]:
    """Return the digest of every file that a wheel's RECORD lists, empty for the RECORD itself.

    A file of several wheels must be the same in all of them; where one says nothing, another may.
    """
    listed: dict[str, str] = {}
    for record in sorted(site.glob("*.dist-info/RECORD")):
        with record.open(encoding="utf-8", newline="") as stream:
            for name, digest, _ in csv.reader(stream):
                listed[name] = digest or listed.get(name, "")
    return listed


def _files(site: Path) -> Iterator[str]:
    """Yield every file and link, relative to ``site``; a link to a directory is one of these."""
    for folder, directories, files in os.walk(site):
        links = (name for name in directories if (Path(folder) / name).is_symlink())
        for name in (*files, *links):
            yield (Path(folder) / name).relative_to(site).as_posix()


def _digest(path: Path) -> str:
    """Return a file's digest as RECORD writes it; a link, which no wheel holds, has none."""
    if path.is_symlink() or not path.is_file():
        return "no file"
    with path.open("rb") as stream:
        value = hashlib.file_digest(stream, "sha256").digest()
    return "sha256=" + base64.urlsafe_b64encode(value).rstrip(b"=").decode()
