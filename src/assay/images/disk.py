"""Files that are whole or absent, and one sentence when a disk is full."""

import errno
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.progress import ticking
from assay.shared.files import sha256_file, write_bytes

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


def seal(path: Path) -> str:
    """Write the file's SHA-256 beside it; returns it."""
    digest = sha256_file(path)
    write_bytes(seal_path(path), (json.dumps({"sha256": digest}) + "\n").encode())
    return digest


def seal_path(path: Path) -> Path:
    """Return where the digest of ``path`` is recorded."""
    return path.with_name(path.name + ".json")


def check_seal(path: Path) -> str:
    """Return the file's SHA-256. Raises CheckFailed when it is not the one recorded beside it."""
    try:
        sealed = json.loads(seal_path(path).read_text())["sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckFailed(
            f"{path}: its recorded SHA-256 is missing; remove the file and start again"
        ) from error
    check_file(path, str(sealed))
    return str(sealed)


def check_file(path: Path, expected: str) -> None:
    """Raise CheckFailed unless the file has the digest that was recorded for it."""
    try:
        found = sha256_file(path)
    except OSError as error:
        raise CheckFailed(f"{path}: cannot be read ({error.strerror})") from error
    if found != expected:
        raise CheckFailed(
            f"{path}: its SHA-256 is {found} and {expected} was recorded; "
            "it was changed and is not used: remove it and start again"
        )


class Counter:
    """Counts bytes as they pass, for a line of progress."""

    def __init__(self) -> None:
        self.bytes = 0
        self.started = time.monotonic()

    def through(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the same chunks."""
        for chunk in chunks:
            self.bytes += len(chunk)
            yield chunk

    def __call__(self) -> str:
        """For ``ticking``."""
        return f", {self.bytes / 1e9:.1f} GB"


@contextmanager
def counting(describe: Callable[[], str] | None = None) -> Iterator[Counter]:
    """A counter whose state is said every few seconds."""
    counter = Counter()
    with ticking(TICK_S, describe or counter):
        yield counter


def chunks_of(path: Path) -> Iterator[bytes]:
    """Yield a file's content, a piece at a time."""
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            yield chunk
