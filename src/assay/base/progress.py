"""Lines of progress, the command as it is typed here, commands watched while they run, and locks
between processes.

Standard library only: the launcher uses this before anything is installed.
"""

import errno
import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from assay.base.errors import MissingEnvironment
from assay.base.printable import shown_line, shown_sentence
from assay.shared.processes import tied_to_parent

NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
TICK_S = 10.0
TYPED = "ASSAY_TYPED"
"""Variable by which the launcher says how it was called."""
PLAIN = "./assay"
"""How every message names the command."""
_COMMAND = re.compile(rf"(?<![^\s`'\"(]){re.escape(PLAIN)} ")
"""The command in a message, and no path that ends so."""
if sys.stderr is None:  # closed: what is said there must not become a result
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - open until the process ends


def typed_command(called: str, script: Path) -> str:
    """Return what starts Assay again from this directory: its name on PATH, or its path.

    ``called``: the path by which it was started; ``script``: its file, where that is none.
    """
    name = Path(called).name
    if shutil.which(name) == called:
        return name
    return called if os.sep in called else str(script)


def command_here(environ: Mapping[str, str]) -> str:
    """Return the command as the launcher was called."""
    return environ.get(TYPED) or PLAIN


def as_typed(text: str) -> str:
    """Return a message in which the command stands as it is typed here."""
    command = command_here(os.environ)
    typed = f"{shlex.quote(command)} "
    return text if command == PLAIN else _COMMAND.sub(lambda _: typed, text)


def say(line: str) -> None:
    """A line of progress on stderr; stdout belongs to results."""
    show_line(f"assay: {as_typed(line)}")


def show_sentence(text: str) -> None:
    """Print what is wrong: a sentence, and lines below it."""
    print(shown_sentence(f"assay: {as_typed(text)}"), file=sys.stderr, flush=True)


def show_line(line: str, to: IO[str] | None = None) -> None:
    """A line on a stream (standard error)."""
    print(shown_line(line), file=to or sys.stderr, flush=True)


def quote(text: str) -> None:
    """Lines of another program, told as such."""
    for line in text.splitlines():
        say(f"  {line}")


def watch(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    """Return the exit code of a command whose output goes to ``log``; say meanwhile how long it
    runs. It is ended with this process.
    """
    with log.open("w") as stream, ticking():
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            preexec_fn=tied_to_parent(),
        )
        try:
            return process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()


@contextmanager
def ticking(doing: str = "") -> Iterator[None]:
    """Say every TICK_S seconds how long the body has been running, and what it is ``doing``."""
    ended = threading.Event()
    started = time.monotonic()

    def tick() -> None:
        while not ended.wait(TICK_S):
            say(f"  ... {time.monotonic() - started:.0f} s{doing}")

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def exclusive(path: Path, waiting: str) -> Iterator[None]:
    """Hold the lock file ``path``, which is open for writing, as NFS wants; say ``waiting`` when
    another process has it. It is removed at the end, so a waiter looks whether it still stands
    there. Raises OSError where it cannot be made, MissingEnvironment on a file system without
    locks.
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
                    "them, or choose a folder on another one"
                ) from error
            if not _is_at(stream.fileno(), path):
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
