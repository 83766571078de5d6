"""A report's files as a list: walked without following links, digested, compared."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from assay.base.errors import CheckFailed
from assay.records.builds import FileDigest
from assay.records.manifest import ATTESTATION, MANIFEST, SIGNER, Manifest
from assay.shared.counting import counted
from assay.shared.files import sha256_file

UNLISTED = frozenset({MANIFEST, ATTESTATION, SIGNER})
"""Files at the top of a report that its manifest cannot or need not list."""


def walk(directory: Path) -> Iterator[str]:
    """Yield the relative paths of all regular files, sorted within each folder.

    Raises CheckFailed for a link, a special file or an empty folder: none of them can be vouched
    for by a digest.
    """
    yield from _walk(directory, PurePosixPath())


def _walk(directory: Path, prefix: PurePosixPath) -> Iterator[str]:
    try:
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise CheckFailed(f"{prefix}: the folder cannot be read: {error.strerror}") from error
    if not entries:
        raise CheckFailed(f"{prefix}: the folder is empty, so nothing vouches for it")
    for entry in entries:
        path = prefix / entry.name
        if entry.is_symlink():
            raise CheckFailed(f"{path}: is a link; a report holds plain files only")
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(directory / entry.name, path)
        elif entry.is_file(follow_symlinks=False):
            yield str(path)
        else:
            raise CheckFailed(f"{path}: is not a plain file")


def digest_of(directory: Path, path: str) -> FileDigest:
    """Name, size and SHA-256 of one file. Raises CheckFailed when it cannot be read."""
    try:
        file = directory / path
        return FileDigest(path=path, sha256=sha256_file(file), bytes=file.stat().st_size)
    except OSError as error:
        raise CheckFailed(f"{path}: cannot be read: {error.strerror}") from error


def build_manifest(directory: Path, run: str) -> Manifest:
    """Return the manifest of a report directory, sorted by path.

    Raises CheckFailed for links, special files, empty folders and names no manifest can carry.
    """
    paths = sorted(path for path in walk(directory) if path not in UNLISTED)
    for path in paths:
        if problem := path_problem(path):
            raise CheckFailed(f"{path!r}: {problem}")
    return Manifest(
        schema="assay/manifest/1",
        run=run,
        files=tuple(digest_of(directory, path) for path in paths),
    )


def path_problem(path: str) -> str | None:
    """Return why ``path`` may not stand in a manifest, or None when it may."""
    if path.startswith("/"):
        return "is an absolute path"
    if "\\" in path or not path.isprintable():
        return "holds a backslash or a control character"
    parts = path.split("/")
    if ".." in parts:
        return "leaves the report directory"
    if "." in parts or "" in parts:
        return "is not in its shortest form"
    if path in UNLISTED:
        return "is not for the manifest to list"
    return None


def shape_problems(manifest: Manifest, present: set[str]) -> list[str]:
    """Return every way in which the files present differ from those the manifest lists."""
    listed = [entry.path for entry in manifest.files]
    problems = [f"{path!r} {why}" for path in listed if (why := path_problem(path))]
    if listed != sorted(set(listed)):
        problems.append("the manifest is not sorted, or lists a file twice")
    expected = set(listed) | UNLISTED
    problems += [f"{path} is missing" for path in sorted(expected - present)]
    problems += [f"{path} is not listed" for path in sorted(present - expected)]
    return problems


def content_problems(directory: Path, manifest: Manifest) -> list[str]:
    """Return every listed file whose size or digest is not the listed one."""
    problems = []
    for entry in manifest.files:
        found = digest_of(directory, entry.path)
        if found.bytes != entry.bytes:
            problems.append(f"{entry.path} has {counted(found.bytes, 'byte')}, not {entry.bytes}")
        elif found.sha256 != entry.sha256:
            problems.append(f"{entry.path} has another SHA-256 than the manifest says")
    return problems
