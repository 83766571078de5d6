"""Files that are whole or absent, and one sentence when a disk is full."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.base.progress import ticking

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
TICK_S = 5.0
CHUNK = 1 << 20


@contextmanager
def partial(path: Path, making: str) -> Iterator[Path]:
    """A path beside ``path`` to write to; it becomes ``path`` at the end, or is removed.

    Raises MissingEnvironment when the disk is full or the directory cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(unfinished)
        yield unfinished
        unfinished.rename(path)
    except OSError as error:
        raise MissingEnvironment(disk_sentence(error, making, path.parent)) from error
    finally:
        _remove(unfinished)


def disk_sentence(error: OSError, making: str, folder: Path) -> str:
    """Return what an error of the file system means for ``making``."""
    if error.errno in FULL:
        return f"the disk is full while {making}: free some space below {folder} and start again"
    return f"{making} failed below {folder}: {error.strerror or error}"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def working() -> AbstractContextManager[None]:
    """Say every few seconds that the body still runs."""
    return ticking(TICK_S, lambda: "")


def chunks_of(path: Path) -> Iterator[bytes]:
    """Yield a file's content, a piece at a time."""
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            yield chunk
