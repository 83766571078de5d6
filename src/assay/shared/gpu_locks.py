"""The folder of the GPUs' locks, one a GPU, for jobs on the host and in containers alike."""

import os
from pathlib import Path

VARIABLE = "ASSAY_LOCK_DIR"
"""Names another folder; a container is told where its host's is bound."""
FOLDER = Path("/tmp/assay-gpu-locks")  # noqa: S108 - all users of a machine must meet there
"""TMPDIR differs between jobs, and a lock must not."""


def lock_folder() -> Path:
    """Return the folder of the locks, which need not exist yet."""
    return Path(os.environ.get(VARIABLE) or FOLDER)


def make_lock_folder() -> Path:
    """Make the folder so that every user of the machine can use it. Raises OSError."""
    folder = lock_folder()
    try:
        folder.mkdir(mode=0o1777)
        folder.chmod(0o1777)  # mkdir's mode is cut by the umask
    except FileExistsError:
        pass
    return folder


def lock_path(uuid: str) -> Path:
    """Return where the lock of a GPU lies."""
    return lock_folder() / f"assay-gpu-{uuid}.lock"
