"""The question whether a file can be made at a place, asked before work is begun for it."""

import errno
import os
import stat
import tempfile
from pathlib import Path

from assay.base.errors import BadInput


def why_not_writable(path: Path) -> str | None:
    """Return why no file can be made at ``path``, its folders included; None when one can.

    A file without a name is made and gone: no look at permissions finds all that refuses one.
    """
    for folder in path.parents:
        try:
            folder.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return f"{folder}: {error.strerror}"
        if not folder.is_dir():
            return f"{folder}: {os.strerror(errno.ENOTDIR)}"
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            return f"{folder}: {error.strerror}"
        return None
    return None


def require_file_place(path: Path) -> None:
    """Raise BadInput where no file can be made at a path, or replaced."""
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):  # a device would be replaced by a file
        raise BadInput(f"{path}: is there, and is no plain file: name another")
    _require(path, path)


def require_folder_place(path: Path, within: Path) -> None:
    """Raise BadInput where no directory can be made at a path, or no ``within`` where it is one."""
    mode = _mode(path)
    if mode is not None and not stat.S_ISDIR(mode):
        raise BadInput(f"{path}: is no directory")
    _require(path, within)


def _mode(path: Path) -> int | None:
    """Return what is at a path; None for nothing. Raises BadInput for what nobody may look at."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error


def _require(path: Path, wanted: Path) -> None:
    if (why := why_not_writable(wanted)) is not None:
        raise BadInput(f"{path}: cannot be made ({why}): name another place")
