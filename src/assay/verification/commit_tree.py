"""The files of a commit of this checkout's own history, put into a folder beside it.

They are read as git keeps them, object by object: no hook, filter or attribute of anybody's
configuration has a say, and the checkout, its index and its list of worktrees stay as they are.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from assay.base.commits import COMMIT
from assay.base.errors import CheckFailed, MissingEnvironment

_PLAIN = {b"100644": 0o644, b"100755": 0o755}
"""Modes of files; links and other repositories' commits are left out."""
LEFT_OUT = (b"reports/published/", b"tests/")
"""Nothing of a commit's command line reads these."""
CLONE = "verify it in a full clone of the repository (git clone)"


def require_ancestor(checkout: Path, commit: str | None) -> str:
    """Return the full id of a commit that the checkout's HEAD descends from, or is.

    Raises CheckFailed for a text that names no commit; MissingEnvironment, with what to do, where
    the history that would tell is not here.
    """
    if commit is None:
        raise MissingEnvironment("the report names no commit that made it; nothing here helps")
    if not COMMIT.fullmatch(commit):
        problem = f"the report names {commit[:80]!r} as the commit that made it"
        raise CheckFailed(problem, code="commit")
    if shutil.which("git") is None:
        raise MissingEnvironment(f"there is no git: install it (apt-get install git) and {CLONE}")
    _require_history(checkout)
    if _asks(checkout, "cat-file", "-e", f"{commit}^{{commit}}") and _asks(
        checkout, "merge-base", "--is-ancestor", commit, "HEAD"
    ):
        return commit
    short = commit[:12]
    if _is_shallow(checkout):
        raise MissingEnvironment(
            f"this clone is shallow, and commit {short} is not in it: git fetch --unshallow"
        )
    if not _asks(checkout, "cat-file", "-e", f"{commit}^{{commit}}"):
        raise MissingEnvironment(
            f"commit {short} is not in this clone: git fetch, or {CLONE} that has it"
        )
    raise MissingEnvironment(
        f"commit {short} is no ancestor of what is checked out here, so its code is not run: "
        "check out a branch that holds it"
    )


def head_of_whole_history(checkout: Path) -> str | None:
    """Return the commit that is checked out; None where not all that it descends from is here."""
    try:
        _require_history(checkout)
    except (MissingEnvironment, OSError):
        return None
    head = os.fsdecode(_tells(checkout, "rev-parse", "--verify", "HEAD"))
    return head if head and not _is_shallow(checkout) else None


def _is_shallow(checkout: Path) -> bool:
    return _tells(checkout, "rev-parse", "--is-shallow-repository") == b"true"


def _require_history(checkout: Path) -> None:
    """Raise MissingEnvironment unless the checkout, and no folder above it, is a git repository."""
    run = _git(checkout, "rev-parse", "--show-toplevel")
    top = os.fsdecode(run.stdout.strip())
    if run.returncode != 0 and b"dubious ownership" in run.stderr:
        raise MissingEnvironment(
            f"git does not trust {checkout}, which belongs to somebody else: "
            f"git config --global --add safe.directory {checkout}"
        )
    if run.returncode != 0 or Path(top).resolve() != checkout.resolve():
        raise MissingEnvironment(f"{checkout} has no git history: {CLONE}")


def file_of(checkout: Path, commit: str, path: str) -> bytes | None:
    """Return the content of one file of a commit; None where it has none."""
    run = _git(checkout, "cat-file", "blob", f"{commit}:{path}")
    return run.stdout if run.returncode == 0 else None


def files_below(checkout: Path, commit: str, prefixes: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of a commit's plain files whose paths start with one of ``prefixes``.

    Raises MissingEnvironment where the history is not whole.
    """
    wanted = tuple(os.fsencode(prefix) for prefix in prefixes)
    found = _contents(checkout, commit, lambda path: path.startswith(wanted))
    return {path: content for _, path, content in found}


def write_tree(checkout: Path, commit: str, folder: Path) -> None:
    """Write a commit's files below ``folder``, but for ``LEFT_OUT``.

    Raises MissingEnvironment where the history is not whole, OSError where nothing can be written.
    """
    for mode, path, content in _contents(
        checkout, commit, lambda path: not path.startswith(LEFT_OUT)
    ):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(mode)


def _contents(
    checkout: Path, commit: str, wanted: Callable[[bytes], bool]
) -> list[tuple[int, str, bytes]]:
    """Return (mode, path, content) of a commit's files; raises as ``write_tree``."""
    listing = _git(checkout, "ls-tree", "-r", "-z", commit)
    entries = [entry.partition(b"\t") for entry in listing.stdout.split(b"\0") if entry]
    files = [
        (mode, object_id, os.fsdecode(path))
        for head, _, path in entries
        for mode, _, object_id in (head.split(),)
        if mode in _PLAIN and wanted(path)
    ]
    asked = b"".join(object_id + b"\n" for _, object_id, _ in files)
    shown = _git(checkout, "cat-file", "--batch", told=asked)
    contents = list(_blobs(shown.stdout))
    if not files or len(contents) != len(files):
        raise MissingEnvironment(f"commit {commit[:12]} cannot be read whole here: {CLONE}")
    return [
        (_PLAIN[mode], path, content)
        for (mode, _, path), content in zip(files, contents, strict=True)
    ]


def _blobs(batch: bytes) -> Iterator[bytes]:
    """The contents in what ``git cat-file --batch`` prints, until one is missing."""
    offset = 0
    while offset < len(batch):
        end = batch.index(b"\n", offset)
        words = batch[offset:end].split()
        if len(words) != 3 or words[1] != b"blob":
            return
        size = int(words[2])
        yield batch[end + 1 : end + 1 + size]
        offset = end + 1 + size + 1


def _asks(checkout: Path, *arguments: str) -> bool:
    return _git(checkout, *arguments).returncode == 0


def _tells(checkout: Path, *arguments: str) -> bytes:
    return _git(checkout, *arguments).stdout.strip()


def _git(checkout: Path, *arguments: str, told: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git on the checkout's own repository, whatever the caller's environment points at."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    command = ["git", "-C", str(checkout), "--no-pager", "-c", "core.hooksPath=/dev/null"]
    return subprocess.run(
        [*command, *arguments], input=told, capture_output=True, check=False, env=environment
    )
