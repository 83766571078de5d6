"""The folder of a project: which of its files are its code, and what they are together."""

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from assay.base.io import read_bytes
from assay.records.base import LONGEST_PATH, PATH_PATTERN
from assay.shared.files import sha256_bytes

PROJECT_FILE = "assay.yaml"
EVIDENCE_FOLDER = "project"
CODE = (".py", ".cu", ".cuh", ".h", ".sh")
"""What is code by its name; other files that code reads are named under ``files``."""
NOT_CODE = frozenset({"results", "reports", "trusted_keys"})
"""Folders of a project that hold none."""
MOST_FILES = 1000
MOST_BYTES = 4_000_000
"""Of all files together, in evidence: what a kernel's author writes, not what he downloads."""


def project_of(folder: Path) -> Path | None:
    """Return the folder of the project that a run's or a report's evidence holds, if it holds
    one.
    """
    inside = folder / EVIDENCE_FOLDER
    return inside if (inside / PROJECT_FILE).is_file() else None


def code_by_name(folder: Path) -> Iterator[str]:
    """Yield what is code by its name, relative to ``folder``; no linked folder is looked into."""
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


def is_name(name: str) -> bool:
    """Return whether a path is one that a file of a project may have."""
    return len(name) <= LONGEST_PATH and re.fullmatch(PATH_PATTERN, name) is not None


def file_problem(folder: Path, name: str) -> str | None:
    """Return what keeps a file, below ``folder`` by name, from being the project's; None where
    nothing does. What lies behind a link is not: somebody else's file would be signed and shown.
    """
    if not is_name(name):
        return (
            "a report cannot carry this name of a file of code: rename it to at most "
            f"{LONGEST_PATH} of a-z, A-Z, 0-9 and . _ + -, each part beginning with a letter, "
            "a digit or _"
        )
    place = folder
    for part in Path(name).parts:
        place /= part
        if place.is_symlink():
            which = "it" if place == folder / name else place.relative_to(folder)
            return f"{which} is a link, and only what lies in the project itself is its code"
    return None if place.is_file() else "is no plain file of the project"


def bounds_problem(folder: Path, names: Collection[str]) -> str | None:
    """Return which bound files break together; None where they break none."""
    less = "none is looked for in folders that begin with . or _"
    if len(names) > MOST_FILES:
        return f"the project has {len(names)} files of code, more than {MOST_FILES}: {less}"
    size = sum((folder / name).stat().st_size for name in names)
    if size > MOST_BYTES:
        return f"the project's code has {size:,} bytes, more than {MOST_BYTES:,}: {less}"
    return None


def digests(folder: Path, names: list[str]) -> dict[str, str]:
    """Return the SHA-256 of each file. Raises BadInput for one that cannot be read."""
    return {name: sha256_bytes(read_bytes(folder / name, MOST_BYTES)) for name in names}


def digest_of(files: dict[str, str]) -> str:
    """Return one SHA-256 of files by name: of lines as ``sha256sum`` writes them, in order."""
    lines = (f"{sha256}  {name}\n" for name, sha256 in sorted(files.items()))
    return sha256_bytes("".join(lines).encode())
