"""The helper that takes turns, compiled as a job starts: ``timing/turn.c`` says what it does.

A process loads it before it forks one that runs a stranger's code.
"""

import ctypes
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "timing" / "turn.c"
COMPILERS = ("cc", "gcc", "clang")
DEADLINE_S = 60.0


class Helper:
    """The compiled helper of this process, if it has one."""

    library: ctypes.PyDLL | None = None
    lacks: str = "it was not compiled"
    """Why there is none."""


def load_helper(folder: Path) -> None:
    """Compile and load the helper, once a process; ``folder``: no stranger's code writes there."""
    if Helper.library is not None:
        return
    try:
        # Of a file that is in use, NFS keeps another in its folder, which then cannot be removed:
        # so it lies in none of its own.
        with (
            tempfile.NamedTemporaryFile(dir=folder, prefix=".turn-", suffix=".so") as made,
            tempfile.TemporaryDirectory(dir=folder, prefix=".turn-") as scratch,
        ):
            library = ctypes.PyDLL(str(_compiled(Path(scratch)).replace(made.name)))
        library.assay_find_driver.restype = ctypes.c_char_p
        library.assay_turn.restype = ctypes.py_object
        Helper.library = library
    except (OSError, subprocess.SubprocessError) as error:
        Helper.lacks = " ".join(str(error).split())


def _compiled(folder: Path) -> Path:
    """Return the library, made in a folder. Raises OSError and SubprocessError."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise OSError(f"there is no C compiler ({', '.join(COMPILERS)})")
    library = folder / "turn.so"
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
    environment = {**os.environ, "TMPDIR": str(folder)}
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    if ended.returncode != 0:
        raise OSError(f"{compiler} fails: {ended.stderr[-200:]}")
    return library


def find_driver() -> ctypes.PyDLL | None:
    """Return the helper, if there is one, with the driver's functions found. Raises RuntimeError.

    Call it before a stranger's code runs.
    """
    if Helper.library is not None and (lacks := Helper.library.assay_find_driver()):
        raise RuntimeError(f"CUDA's driver cannot be loaded: {lacks.decode()}")
    return Helper.library
