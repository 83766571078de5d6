"""Lines of progress, commands watched while they run, and locks between processes.

Standard library only: the launcher uses this before anything is installed.
"""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from assay.base.errors import MissingEnvironment
from assay.base.printable import shown_line
from assay.shared.parent_death import tied_to_parent

NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


def say(line: str) -> None:
    """A line of progress on stderr; stdout belongs to results."""
    print(f"assay: {shown_line(line)}", file=sys.stderr, flush=True)


def has_output() -> bool:
    """Return whether standard output is open, and say so where it is not.

    A closed standard error is opened onto nothing: what is said there must not become a result.
    """
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - open until the process ends
    if sys.stdout is None:
        say("standard output is closed, and results go there: send it to a file, or to /dev/null")
    return sys.stdout is not None


def quote(text: str) -> None:
    """Lines of another program, told as such."""
    for line in text.splitlines():
        say(f"  {line}")


def watch(
    command: Sequence[str],
    log: Path,
    environment: Mapping[str, str],
    *,
    tick_s: float,
    describe: Callable[[str], str],
    directory: Path | None = None,
) -> int:
    """Exit code of a command whose output goes to ``log``.

    Every ``tick_s`` seconds a line says how long it has been running, with ``describe(output so
    far)`` behind it. The command is ended when this process is interrupted.
    """
    started = time.monotonic()
    with log.open("w") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=directory,
            preexec_fn=tied_to_parent(),
        )
        try:
            while True:
                try:
                    return process.wait(timeout=tick_s)
                except subprocess.TimeoutExpired:
                    text = log.read_text(errors="replace")
                    say(f"  ... {time.monotonic() - started:.0f} s{describe(text)}")
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals by which somebody asks a process to end."""


NOT_BEGUN = "interrupted: nothing was begun"


class SignalledExit(SystemExit):
    """A signal asked this process to end; ``code`` is 128 and the signal's number, as shells say.

    143 for SIGTERM, that is, and not Ctrl-C's 130: who sent it can tell the two apart.
    """

    code: int


def leave_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does: through every ``finally``.

    Children are ended, containers removed and half-written files taken away on the way. What
    ``hold_signals`` kept back arrives now.
    """

    def leave(number: int, frame: FrameType | None) -> None:
        raise SignalledExit(128 + number)

    for number in ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, _end_at_once):
            way = signal.default_int_handler if number == signal.SIGINT else leave
            signal.signal(number, way)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def hold_signals() -> None:
    """Keep back signals that ask for an end, until this process, or what it becomes, takes them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)


def end_on_signals() -> None:
    """Let a signal end this process with one line, at once: nothing was begun that needs an end."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end_at_once)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def _end_at_once(number: int, frame: FrameType | None) -> None:
    say(NOT_BEGUN)
    os._exit(128 + number)


@contextmanager
def ticking(tick_s: float, describe: Callable[[], str]) -> Iterator[None]:
    """Say every ``tick_s`` seconds how long the body has been running, and ``describe()``."""
    ended = threading.Event()
    started = time.monotonic()

    def tick() -> None:
        while not ended.wait(tick_s):
            say(f"  ... {time.monotonic() - started:.0f} s{describe()}")

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def exclusive(path: Path, waiting: str) -> Iterator[None]:
    """Hold the lock file ``path``; say ``waiting`` when another process holds it first.

    The file is removed at the end, so a waiter makes sure that what it locked still stands there.
    It is open for writing, which a lock over NFS takes. Raises OSError where it cannot be made,
    MissingEnvironment on a file system without locks.
    """
    said = False
    while True:
        with path.open("a") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not said:
                    say(waiting)
                    said = True
                fcntl.flock(stream, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise
                raise MissingEnvironment(
                    f"{path.parent}: this file system has no locks (flock): have it mounted with "
                    "them, or the cache elsewhere"
                ) from error
            if not _is_at(stream.fileno(), path):
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether an open file is the one that stands at ``path`` now."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
