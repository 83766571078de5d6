"""Finding a source by its digest: in the checkout, else in the history that git keeps of it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from assay.base.commits import COMMIT
from assay.base.errors import CheckFailed
from assay.records.builds import FileDigest
from assay.shared.files import sha256_bytes

MOST_COMMITS = 200
"""How far back the history of one file is searched."""


class SourceMissing(CheckFailed):
    """No version of a file at hand has the recorded digest."""


def find_source(root: Path, source: FileDigest, commit: str | None) -> tuple[bytes, str]:
    """Return the recorded content of a source, and where it was found.

    Looks in the checkout ``root``, at ``commit``, then at every commit that changed the file.
    ``source.path`` must be a plain path, which ``command_policy`` sees to. Raises SourceMissing.
    """
    try:
        data = (root / source.path).read_bytes()
    except OSError:
        data = b""
    if sha256_bytes(data) == source.sha256:
        return data, "the checkout"
    if not _git(root, "rev-parse", "--git-dir"):
        raise SourceMissing(
            f"{source.path} is another file in this checkout, which has no git history to look in"
        )
    for candidate in _candidates(root, source.path, commit):
        # "./" makes git take the path from ``root``, should that be a folder of a larger tree.
        data = _git(root, "cat-file", "blob", f"{candidate}:./{source.path}")
        if sha256_bytes(data) == source.sha256:
            return data, f"commit {candidate[:12]}"
    named = f", nor has commit {commit[:12]}, which made the report" if commit else ""
    raise SourceMissing(
        f"no commit of this checkout's history has the {source.path} that was compiled{named}"
    )


def _candidates(root: Path, path: str, commit: str | None) -> Iterator[str]:
    """The named commit, then those that changed the file, newest first."""
    if commit is not None and COMMIT.fullmatch(commit):
        yield commit
    log = _git(root, "log", "--all", "--format=%H", f"--max-count={MOST_COMMITS}", "--", path)
    yield from log.decode().split()


def _git(root: Path, *arguments: str) -> bytes:
    """Return what git prints; nothing where it fails or is not installed."""
    command = ["git", "-C", str(root), "--no-pager", *arguments]
    try:
        run = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return b""
    return run.stdout if run.returncode == 0 else b""
