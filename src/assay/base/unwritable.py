"""One sentence for a place that cannot be written, with the option or variable that helps."""

import errno
from pathlib import Path

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
    return f"{place}: cannot be written: {error.strerror}; {_remedy(place, root)}"


def _remedy(place: Path, root: Path) -> str:
    if place.is_relative_to(root / ".venv"):
        return "make it writable, or set ASSAY_NO_VENV=1 to use the packages of this Python"
    if place.is_relative_to(root / ".toolchain"):
        return (
            "make it writable, or let --runtime docker, podman or apptainer compile, or name with "
            "--prebuilt what was compiled elsewhere"
        )
    if place.is_relative_to(root):
        return f"make {root} writable, or run from a copy of it"
    if place.is_relative_to(Path.home()):
        return (
            "make it writable, or name other places: --signing-key (or ASSAY_SIGNING_KEY) for the "
            "key, XDG_CACHE_HOME for caches"
        )
    return "make it writable, or name another folder for temporary files with TMPDIR"
