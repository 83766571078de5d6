"""What programs are started with: nothing of the directory that somebody happens to be in.

A report may come from an enemy, and its reader may well stand in it. So no variable decides where
a Python looks for code, an interpreter's first place is never the current directory, and search
paths hold absolute directories only. Standard library only: the launcher uses this before anything
is installed.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from assay.base.errors import BadInput

SEARCHED = (
    "PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
)  # fmt: skip
"""Where programs, libraries and headers are looked for. An empty entry means the current directory,
and so does a relative one (``./assay`` itself sees to the first two before it starts a Python)."""
SEPARATORS = os.pathsep + ",\n"
"""What a directory of packages cannot have in its name: lists of paths and of mounts are cut there.
"""

DEVICE_PATH = "--device-path"
"""The option that names directories of packages for the GPU's Python."""
IGNORED = (
    f"PYTHONPATH is ignored: {DEVICE_PATH} DIR names packages for the Python that measures, and "
    "ASSAY_PYTHON with ASSAY_NO_VENV=1 the Python that runs ./assay"
)


def isolated(environ: Mapping[str, str], packages: Iterable[Path] = ()) -> dict[str, str]:
    """Return a caller's environment without what would run code that nobody put there for that:
    every ``PYTHON...`` variable, for they name directories, files and modules. ``packages`` as for
    ``python_variables``.
    """
    kept = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    for name in SEARCHED:
        if name in kept:
            kept[name] = os.pathsep.join(filter(os.path.isabs, kept[name].split(os.pathsep)))
            if not kept[name]:  # an empty one is the current directory again
                del kept[name]
    return kept | python_variables(packages)


def python_variables(packages: Iterable[Path] = ()) -> dict[str, str]:
    """Return what has a Python look into ``packages`` first, and never where it stands."""
    listed = os.pathsep.join(map(str, packages))
    return {"PYTHONSAFEPATH": "1"} | ({"PYTHONPATH": listed} if listed else {})


def package_directory(option: str, name: str, *, present: bool = True) -> Path:
    """Return a named directory of packages; ``present``: it must be here. Raises BadInput."""
    path = Path(name)
    if not path.is_absolute():
        raise BadInput(f"{option} {name}: name an absolute directory")
    if any(separator in name for separator in SEPARATORS):
        raise BadInput(f"{option} {name!r}: a directory whose name has no colon, comma or newline")
    if present and not path.is_dir():
        raise BadInput(f"{option} {name}: no such directory")
    return path
