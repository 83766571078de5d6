"""The GPUs' locks, one a GPU, for jobs on the host and in containers alike.

They keep Assay's own jobs apart, whatever user or container they run as, as long as they see one
folder.
"""

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.shared.errors import NoDevice

VARIABLE = "ASSAY_LOCK_DIR"
"""Names another folder; a container is told where its host's is bound."""
FOLDER = Path("/tmp/assay-gpu-locks")  # noqa: S108 - all users of a machine must meet there
"""TMPDIR differs between jobs, and a lock must not."""
LOCK_WAIT_S = 1800.0
LOCK_POLL_S = 0.2


def lock_folder() -> Path:
    """Return the folder of the locks, which need not exist yet."""
    return Path(os.environ.get(VARIABLE) or FOLDER)


def make_lock_folder() -> Path:
    """Make the folder so that every user of the machine can use it. Raises OSError."""
    folder = lock_folder()
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o1777)
        folder.chmod(0o1777)  # mkdir's mode is cut by the umask
    return folder


def lock_path(uuid: str) -> Path:
    """Return where the lock of a GPU lies."""
    return lock_folder() / f"assay-gpu-{uuid}.lock"


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _open_lock(path: Path) -> int:
    """Return a descriptor, read-only: the file may be another user's. Raises OSError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    for _ in range(3):
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            # Never O_CREAT on an existing file: a sticky directory forbids that to other users.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    return os.open(path, flags)


@dataclass(frozen=True)
class Lock:
    """The outcome of asking for the lock."""

    path: str | None
    """None where no lock could be made; ``detail`` says why."""
    waited_s: float
    detail: str


NO_LOCK = Lock(None, 0.0, "")
"""Of a job that may share the GPU."""


@contextlib.contextmanager
def hold_gpu(
    uuid: str, wait_s: float = LOCK_WAIT_S, say: Callable[[str], None] = _say
) -> Iterator[Lock]:
    """Hold the lock of a GPU, waiting for it with one sentence. Raises NoDevice after ``wait_s``.

    A directory that takes no lock file is no reason not to measure: the Lock says so. Children
    inherit the descriptor, so the lock outlives a parent that is killed until they are gone too.
    """
    path = lock_path(uuid)
    try:
        make_lock_folder()
        handle = _open_lock(path)
    except OSError as error:
        yield Lock(None, 0.0, f"no lock at {path.name}: {error.strerror}")
        return
    try:
        yield Lock(str(path), _acquire(handle, uuid, wait_s, say), "")
    finally:
        os.close(handle)


def _acquire(handle: int, uuid: str, wait_s: float, say: Callable[[str], None]) -> float:
    began, told = time.monotonic(), False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return time.monotonic() - began
        except BlockingIOError:
            if time.monotonic() - began > wait_s:
                raise NoDevice(
                    f"{uuid} has been measured on by another Assay job for {wait_s:.0f} s: "
                    "wait for it to end, or name another GPU with CUDA_VISIBLE_DEVICES"
                ) from None
            if not told:
                say(f"waiting: another Assay job is measuring on {uuid}")
                told = True
            time.sleep(LOCK_POLL_S)
        except OSError as error:  # a file system without locks
            say(f"no lock on {uuid}: {error.strerror}; measuring without one")
            return 0.0
