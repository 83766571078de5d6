"""The question whether a file can be made at a place, asked before work is begun for it."""

import errno
import os
from pathlib import Path


def why_not_writable(path: Path) -> str | None:
    """Return why no file can be made at ``path``, its folders included; None when one can.

    Writes nothing. Root is let through everywhere but where nothing can be written at all.
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
        if os.access(folder, os.W_OK | os.X_OK):
            return None
        read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
        return f"{folder}: {os.strerror(errno.EROFS if read_only else errno.EACCES)}"
    return None
