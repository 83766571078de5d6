"""What git knows of a checkout: its commit, whether it is clean, and which files are its own."""

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""A whole id, of SHA-1 or SHA-256; to be matched in full."""

SITE_FILES = ("config/cluster.yaml", "config/kubernetes.yaml")
"""In which a site says where its jobs run, which makes no figure another one. Commits that
published reports name hold the second one."""
MEANT = ("--", ".", *(f":(exclude){path}" for path in SITE_FILES))


def git_state(root: Path) -> tuple[str | None, bool | None]:
    """Return commit and whether the tree is clean. ``ASSAY_COMMIT`` names that of a tree without
    git; its cleanness is not known. A repository that the tree only lies in says nothing of it.
    Raises BadInput where the name is none, or git knows a clean tree as another commit.
    """
    named = os.environ.get("ASSAY_COMMIT") or None
    if named is not None and not COMMIT.fullmatch(named):
        raise BadInput(f"ASSAY_COMMIT is '{named}', which is no commit: 40 hexadecimal digits")

    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    own["GIT_OPTIONAL_LOCKS"] = "0"  # asking what is changed is no reason to write an index

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=own)
        return run.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != root.resolve():
            return named, None
        commit, clean = git("rev-parse", "HEAD"), git("status", "--porcelain", *MEANT) == ""
    except (OSError, subprocess.CalledProcessError):
        return named, None
    if named is None or named == commit:
        return commit, clean
    if clean:
        raise BadInput(f"ASSAY_COMMIT is {named}, but this tree is that of commit {commit}")
    return named, None


def source_files(root: Path) -> list[str]:
    """Return the files that git tracks below ``root``. Raises MissingEnvironment without git."""
    try:
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z"],
            capture_output=True, check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingEnvironment(
            "what goes to another machine is taken from a git checkout: git tells the project's "
            "files from yours"
        ) from error
    names = sorted({os.fsdecode(name) for name in listed.split(b"\0") if name})
    return [name for name in names if (root / name).is_file() and not (root / name).is_symlink()]


def require_tracked(root: Path, targets: Iterable[str]) -> None:
    """Raise BadInput for a target whose file is below ``root``, but would stay behind."""
    tracked = set(source_files(root))
    for file in (f"config/targets/{target}.yaml" for target in targets):
        if (root / file).is_file() and file not in tracked:
            raise BadInput(f"{file}: only what git tracks goes to another machine: git add it")
