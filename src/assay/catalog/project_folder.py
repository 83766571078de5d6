"""The folder of a project: which of its files are its code, and what they are together."""

import os
from collections.abc import Iterator
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_bytes
from assay.shared.files import sha256_bytes

PROJECT_FILE = "assay.yaml"
EVIDENCE_FOLDER = "project"
"""Where a run, and a report's evidence, hold a copy of it."""
CODE = (".py", ".cu", ".cuh", ".h", ".sh")
"""What is code by its name; other files that code reads are named under ``files``."""
NOT_CODE = frozenset({"results", "reports", "trusted_keys"})
"""Folders of a project that hold none."""
MOST_FILES = 200
MOST_BYTES = 4_000_000
"""Of all files together, in evidence: what a kernel's author writes, not what he downloads."""


def project_of(folder: Path) -> Path | None:
    """Return the folder of the project that a run's or a report's evidence holds, if it holds
    one.
    """
    inside = folder / EVIDENCE_FOLDER
    return inside if (inside / PROJECT_FILE).is_file() else None


def code_files(folder: Path, named: tuple[str, ...] = ()) -> list[str]:
    """Return the project's files beside assay.yaml, relative to ``folder``, in order.

    Raises BadInput for one that is named and not there, a link, or more than the bounds allow.
    """
    found = sorted({*_code(folder), *named})
    if len(found) > MOST_FILES:
        raise BadInput(f"{folder}: holds more than {MOST_FILES} files of code")
    for name in found:
        path = folder / name
        if path.is_symlink() or not path.is_file():
            raise BadInput(f"{path}: is no plain file of the project")
    size = sum((folder / name).stat().st_size for name in found)
    if size > MOST_BYTES:
        raise BadInput(f"{folder}: its code has {size:,} bytes, more than {MOST_BYTES:,}")
    return found


def digests(folder: Path, names: list[str]) -> dict[str, str]:
    """Return the SHA-256 of each file. Raises BadInput for one that cannot be read."""
    return {name: sha256_bytes(read_bytes(folder / name, MOST_BYTES)) for name in names}


def digest_of(files: dict[str, str]) -> str:
    """Return one SHA-256 of files by name: of lines as ``sha256sum`` writes them, in order."""
    lines = (f"{sha256}  {name}\n" for name, sha256 in sorted(files.items()))
    return sha256_bytes("".join(lines).encode())


def _code(folder: Path) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        top = Path(place) == folder
        folders[:] = sorted(
            name
            for name in folders
            if name[0] not in "._" and not (top and name in NOT_CODE)
            and not (Path(place) / name).is_symlink()
            and not (Path(place) / name / PROJECT_FILE).exists()  # a project of its own
        )  # fmt: skip
        for name in names:
            if name.endswith(CODE) and name[0] != ".":
                yield (Path(place) / name).relative_to(folder).as_posix()
