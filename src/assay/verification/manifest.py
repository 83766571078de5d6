"""A report's files as a list: walked without following links, digested, compared.

The folder may be an enemy's: what is too much, and what only a file system can hold, is refused as
soon as it is seen, and a file is read no further than the manifest says.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.base.check_log import CheckUnderWay
from assay.base.errors import CheckFailed
from assay.records.attestation import (
    ATTESTATION,
    MANIFEST,
    PROVENANCE,
    SIGNER,
    TEXTS,
    VERDICTS,
    Manifest,
)
from assay.records.builds import FileDigest
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import (
    MOST_FILE,
    MOST_FILES,
    MOST_FOLDERS_DEEP,
    MOST_REPORT,
    Unreadable,
    whole_file_bytes,
)

UNLISTED = frozenset({MANIFEST, ATTESTATION, SIGNER})
"""Files at the top of a report that its manifest cannot or need not list; a provenance, which
earlier versions signed beside it, is held by its digest in the statement."""
TOLD = frozenset({VERDICTS, *TEXTS})
"""Files at its top that the manifest lists; all others lie below evidence/."""
EVIDENCE = "evidence/"


def walk(directory: Path) -> Iterator[str]:
    """Yield the relative paths of all regular files, sorted within each folder.

    Raises CheckFailed for a link, a special file or an empty folder, none of which can be vouched
    for by a digest; for more than a report has.
    """
    yield from _walk(os.fspath(directory), "", [0])


def _walk(directory: str, prefix: str, seen: list[int]) -> Iterator[str]:
    """``prefix`` ends in a slash, but for the first; ``seen`` counts all entries so far."""
    folder = prefix.rstrip("/") or "."
    entries = []
    try:
        with os.scandir(directory) as found:
            for entry in found:
                seen[0] += 1
                if seen[0] > MOST_FILES or prefix.count("/") > MOST_FOLDERS_DEEP:
                    problem = "there are more files and folders than any report has"
                    raise CheckFailed(problem, code="shape-files")
                entries.append(entry)
    except OSError as error:
        raise CheckFailed(f"{folder}: the folder cannot be read: {error.strerror}") from error
    if not entries:
        problem = f"{folder}: the folder is empty, so nothing vouches for it"
        raise CheckFailed(problem, code="shape-kind")
    for entry in sorted(entries, key=lambda each: each.name):
        path = f"{prefix}{entry.name}"
        if entry.is_symlink():
            problem = f"{path!a}: is a link; a report holds plain files only"
            raise CheckFailed(problem, code="shape-kind")
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, f"{path}/", seen)
        elif entry.is_file(follow_symlinks=False):
            yield path
        else:
            raise CheckFailed(f"{path!a}: is not a plain file", code="shape-kind")


def plain_bytes(directory: Path, name: str, most: int) -> bytes:
    """Return a file of a report. Raises CheckFailed unless it is a plain one of at most ``most``
    bytes.
    """
    try:
        return whole_file_bytes(directory / name, most, follow=False)
    except Unreadable as error:
        raise CheckFailed(f"{name} {error}", code=error.code) from error
    except FileNotFoundError as error:
        raise CheckFailed(f"{name} is missing", code="file-missing") from error
    except OSError as error:
        raise CheckFailed(f"{name} cannot be read: {error.strerror}") from error


def digest_of(directory: Path, path: str, most: int = MOST_FILE) -> FileDigest:
    """Return name, size and SHA-256 of one file.

    Raises CheckFailed when it cannot be read; for one of more than ``most`` bytes before it is.
    """
    data = plain_bytes(directory, path, most)
    return FileDigest(path=path, sha256=sha256_bytes(data), bytes=len(data))


def build_manifest(directory: Path, run: str) -> Manifest:
    """Return the manifest of a report directory, but for the files it cannot contain.

    Raises CheckFailed for links, special files, empty folders and names no manifest can carry.
    """
    paths = sorted(path for path in walk(directory) if path not in UNLISTED | {PROVENANCE})
    for path in paths:
        if problem := path_problem(path):
            raise CheckFailed(f"{path!a}: {problem}", code="manifest-path")
    files = tuple(digest_of(directory, path) for path in paths)
    if problem := _size_problem(files):
        raise CheckFailed(problem, code="shape-size")
    return Manifest(schema="assay/manifest/1", run=run, files=files)


def _size_problem(files: Sequence[FileDigest]) -> str | None:
    """Return a sentence where a report would have more bytes than anybody verifies."""
    if long := [entry.path for entry in files if entry.bytes > MOST_FILE]:
        return f"{long[0]} has more than {MOST_FILE:,} bytes"
    if sum(entry.bytes for entry in files) > MOST_REPORT:
        return f"the files have more than {MOST_REPORT:,} bytes together"
    return None


def unsafe_path(path: str) -> str | None:
    """Return why a path may lead elsewhere or means several things, or None."""
    if "\\" in path or not path.isprintable():
        return "holds a backslash or a control character"
    if any(part in ("", ".", "..") for part in path.split("/")):
        return "is not in its shortest form, or leaves its directory"
    return None


def path_problem(path: str) -> str | None:
    """Return why ``path`` may not stand in a manifest, or None when it may."""
    if problem := unsafe_path(path):
        return problem
    if path not in TOLD and not path.startswith(EVIDENCE):
        return "is no part of a report that a manifest lists"
    return None


def check_shape(
    manifest: Manifest, present: set[str], says: CheckUnderWay, *, provenance: bool
) -> None:
    """Refuse where the files present differ from those that the manifest lists.

    ``provenance``: whether the statement says that there is one.
    """
    listed = [entry.path for entry in manifest.files]
    for path in listed:
        if why := path_problem(path):
            says.refuse("manifest-path", f"{path!a} {why}")
    if listed != sorted(set(listed)):
        says.refuse("manifest-order", "the manifest is not sorted, or lists a file twice")
    if problem := _size_problem(manifest.files):
        says.refuse("shape-size", problem)
    expected = set(listed) | UNLISTED | ({PROVENANCE} if provenance else set())
    for path in sorted(expected - present):
        says.refuse("shape-missing", f"{path} is missing")
    for path in sorted(present - expected):
        says.refuse("shape-unlisted", f"{path} is not listed")


def changed_files(directory: Path, manifest: Manifest) -> list[str]:
    """Return a sentence on each listed file whose size or digest is not the listed one.

    No file is read that is longer than listed.
    """
    problems = []
    for entry in manifest.files:
        try:
            found = digest_of(directory, entry.path, entry.bytes)
        except CheckFailed as error:
            problems.append(str(error))
            continue
        if found.bytes != entry.bytes:
            problems.append(f"{entry.path} has {found.bytes} bytes, not {entry.bytes}")
        elif found.sha256 != entry.sha256:
            problems.append(f"{entry.path} has another SHA-256 than the manifest says")
    return problems
