"""Whether a file can be made at a place, and where what can be made again is kept.

That lies in the checkout for its own runs, with a user for projects: a project's run writes nothing
into the checkout (or the installed package) whose code it runs. The command names another folder,
and every process that it starts is told of it.
"""

import errno
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment

CACHE_VARIABLE = "ASSAY_CACHE"
"""Names the folder of caches, for a command and all that it starts."""
CODES = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR,
     errno.EEXIST, errno.EISDIR}
)  # fmt: skip
"""What the kernel says of a place where nothing can be made."""


def is_about_writing(error: OSError) -> bool:
    """Return whether a named place refuses to be written: the machine is at fault."""
    return error.errno in CODES and isinstance(error.filename, str | Path)


def unwritable_sentence(error: OSError, root: Path) -> str:
    """Return what cannot be written, why, and what helps."""
    place = Path(error.filename)
    if place.name.startswith(".") and place.parent != root:  # a file on its way to its name
        place = place.parent
    remedy = "name another place (for keys --signing-key, for caches XDG_CACHE_HOME)"
    if place.is_relative_to(root):
        remedy = f"run from a copy of {root}"
    elif place.is_relative_to(tempfile.gettempdir()):
        remedy = "name another folder for temporary files with TMPDIR"
    return f"{place}: cannot be written: {error.strerror}; make it writable, or {remedy}"


def disk_is_full(text: str) -> bool:
    """Return whether a tool's message says so: each passes on the C library's words for ENOSPC."""
    return "no space left on device" in text.lower()


def why_not_writable(path: Path) -> str | None:
    """Return why no file can be made at ``path``, by making a nameless one; None when one can."""
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
    """Raise BadInput where what is there is no plain file, MissingEnvironment where none can be
    made.
    """
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):  # a device would be replaced by a file
        raise BadInput(f"{path}: is there, and is no plain file: name another")
    _require(path, path)


def require_folder_place(path: Path, within: Path) -> None:
    """Raise likewise for a directory, in which ``within`` is to be made."""
    mode = _mode(path)
    if mode is not None and not stat.S_ISDIR(mode):
        raise BadInput(f"{path}: is no directory")
    _require(path, within)


def _mode(path: Path) -> int | None:
    """Return what is at a path, or None. Raises MissingEnvironment if nobody may look."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise MissingEnvironment(f"{path}: {error.strerror}") from error


def _require(path: Path, wanted: Path) -> None:
    if (why := why_not_writable(wanted)) is not None:
        raise MissingEnvironment(
            f"{path}: cannot be written: {why}; make it writable, or name another place"
        )


def cache_folder(root: Path) -> Path:
    """Return where builds, images, wheels and the like are kept; ``root``: the repository."""
    return own_cache() or root / "results" / "cache"


def own_cache() -> Path | None:
    """Return the folder that stands in the place of the repository's, where there is one."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else None


def project_cache(environ: Mapping[str, str]) -> Path:
    """Return where projects' runs keep such things, with their user. Raises MissingEnvironment."""
    home = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "/")) / ".cache"
    place = Path(environ.get(CACHE_VARIABLE) or Path(home) / "assay").absolute()
    if (why := why_not_writable(place / "builds")) is not None:
        raise MissingEnvironment(
            f"what projects' runs make and use again is kept in {place}, and cannot be ({why}): "
            f"name another folder of yours with {CACHE_VARIABLE}"
        )
    return place
