"""The files of this project in a checkout, and none of its user's."""

import os
import subprocess
from pathlib import Path

from assay.base.errors import MissingEnvironment


def source_files(root: Path) -> list[str]:
    """Return the project's own files, relative to ``root``: what git tracks, and nothing beside it.

    Raises MissingEnvironment where git does not tell them from the user's.
    """
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
