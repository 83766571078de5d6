"""Finding a source by its digest: in the checkout, else in the history that git keeps of it."""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from assay.base.commits import COMMIT
from assay.base.errors import CheckFailed
from assay.records.builds import FileDigest
from assay.shared.files import sha256_bytes

MOST_COMMITS = 200


class SourceMissing(CheckFailed):
    """No version of a file at hand has the recorded digest."""


def find_source(root: Path, source: FileDigest, commit: str | None) -> bytes:
    """Return the recorded content of a source.

    Looks in the checkout ``root``, at ``commit``, then at every commit that changed the file.
    ``source.path`` must be a plain path, which ``command_problem`` sees to. Raises SourceMissing.
    """
    for data in _versions(root, source.path, commit):
        if sha256_bytes(data) == source.sha256:
            return data
    raise SourceMissing(
        f"neither this checkout nor its git history has the {source.path} that was compiled"
    )


def _versions(root: Path, path: str, commit: str | None) -> Iterator[bytes]:
    with suppress(OSError):
        yield (root / path).read_bytes()
    commits = [commit] if commit is not None and COMMIT.fullmatch(commit) else []
    log = _git(root, "log", "--all", "--format=%H", f"--max-count={MOST_COMMITS}", "--", path)
    for candidate in (*commits, *log.decode().split()):
        # "./" makes git take the path from ``root``, should that be a folder of a larger tree.
        yield _git(root, "cat-file", "blob", f"{candidate}:./{path}")


def _git(root: Path, *arguments: str) -> bytes:
    """Return what git prints; nothing where it fails or is not installed."""
    command = ["git", "-C", str(root), "--no-pager", *arguments]
    try:
        run = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return b""
    return run.stdout if run.returncode == 0 else b""
