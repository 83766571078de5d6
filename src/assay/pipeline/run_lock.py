"""The lock of a run, which also holds on a file system that several machines share.

``flock`` is not relied on: over NFS it needs a lock manager, and a mount may keep it to one machine
without a word. Here the lock is a name that only one process can make: a hard link, which every
server makes whole or not at all, to a file with the owner's own name in it. The owner touches that
file while it lives. One that is seen to be gone, or that has not touched its file for a while, by
the waiter's own clock, has lost the lock; and it ends when it finds that out.
"""

import errno
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.base.progress import say
from assay.runtimes import owners
from assay.shared.files import sha256_bytes, write_bytes

POLL_S = 0.5
BEAT_S = 10.0
"""How often an owner touches its file."""
STALE_S = 90.0
"""An owner out of sight that has not for so long is gone: its machine is, or its network."""
NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV}


@dataclass(frozen=True)
class Held:
    """What stands at a lock's name: its owner, and when that last touched it."""

    owner: str
    touched_ns: int


@contextmanager
def held_run(path: Path, waiting: str) -> Iterator[None]:
    """Hold the lock at ``path``, with this process's name in it; say ``waiting`` while it waits.

    Raises MissingEnvironment where the file system makes no hard links.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    me = str(owners.myself())
    own = _own_file(path, me)
    write_bytes(own, me.encode())
    try:
        _acquire(own, path, waiting)
        ended = threading.Event()
        beat = threading.Thread(target=_beat, args=(own, path, ended), daemon=True)
        beat.start()
        try:
            yield
        finally:
            ended.set()
            beat.join()
            if _is_mine(own, path):
                path.unlink()
    finally:
        own.unlink(missing_ok=True)


def _acquire(own: Path, path: Path, waiting: str) -> None:
    said, seen, since = False, None, time.monotonic()
    while not _linked(own, path):
        held = _held(path)
        if held is None:
            continue  # it was let go of just now
        if held != seen:
            seen, since = held, time.monotonic()
        if _is_lost(held, time.monotonic() - since):
            _break(path, own, held)
            continue
        if not said:
            say(waiting)
            said = True
        time.sleep(POLL_S)
        with suppress(OSError):
            os.utime(own)


def _linked(own: Path, path: Path) -> bool:
    """Make the name; whether it is ours now. An answer that NFS lost is asked for again."""
    try:
        os.link(own, path)
    except FileExistsError:
        return _is_mine(own, path)
    except OSError as error:
        if error.errno in NO_LINKS:
            raise MissingEnvironment(
                f"{path.parent}: this file system makes no hard links, by which runs keep apart: "
                "put the checkout, or the project, on another one"
            ) from error
        raise
    return True


def _is_mine(own: Path, path: Path) -> bool:
    try:
        return os.path.samestat(own.stat(), path.stat())
    except FileNotFoundError:
        return False


def _held(path: Path) -> Held | None:
    """Return what stands there; opened, so that a network's file system asks its server."""
    try:
        with path.open("rb") as stream:
            owner = stream.read().decode(errors="replace")
            return Held(owner, os.fstat(stream.fileno()).st_mtime_ns)
    except OSError:
        return None


def _is_lost(held: Held, unchanged_s: float) -> bool:
    owner, me = owners.parse(held.owner), owners.myself()
    if owner is None:
        return True  # nothing that this version wrote
    if owners.is_gone(owner, me):
        return True
    return not owners.is_in_sight(owner, me) and unchanged_s > STALE_S


def _break(path: Path, own: Path, held: Held) -> None:
    """Take away a lock that its owner has lost, unless another waiter did so first.

    One waiter at a time looks again and removes; who is in the way for too long died of it.
    """
    guard = path.with_name(f"{path.name}.breaking")
    try:
        os.link(own, guard)
    except FileExistsError:
        with suppress(OSError):
            os.utime(own)  # both times are then of the clock that the file system keeps
            if own.stat().st_mtime - guard.stat().st_mtime > STALE_S:
                guard.unlink()
        time.sleep(POLL_S)
        return
    try:
        now = _held(path)
        if now is not None and now.owner == held.owner:
            path.unlink(missing_ok=True)
            _own_file(path, held.owner).unlink(missing_ok=True)
    finally:
        guard.unlink(missing_ok=True)


def _beat(own: Path, path: Path, ended: threading.Event) -> None:
    """Touch the file; where the lock has become another's, end this process as a signal would."""
    while not ended.wait(BEAT_S):
        with suppress(OSError):
            os.utime(own)
            if not _is_mine(own, path):
                os.kill(os.getpid(), signal.SIGTERM)
                return


def _own_file(path: Path, owner: str) -> Path:
    return path.with_name(f"{path.name}.{sha256_bytes(owner.encode())[:12]}")
