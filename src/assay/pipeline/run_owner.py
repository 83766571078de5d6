"""One command at a time has a run, and its steps end with it: nobody waits for what they make.

Where the command was killed, nobody asks the step to end; it looks for itself. So a step's own
``finally`` is run, which ends device processes and compilers and removes containers, and a report
is never signed for a command that is gone.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from assay.base.progress import exclusive
from assay.pipeline.places import RESULTS
from assay.runtimes import owners
from assay.runtimes.leftovers import end_leftovers, owner_in

GRACE_S = 60.0
"""Time to remove containers and half-written files, as an interrupted run grants it."""
POLL_S = 1.0
FAR_POLL_S = 5.0
"""How often a step on another machine looks whether the run is still its command's."""


def lock_path(root: Path, run: str) -> Path:
    """Return the lock of a run; it holds the name of the command that has the run."""
    return root / RESULTS / f".{run}.lock"


@contextmanager
def only_run(home: Path, name: str) -> Iterator[None]:
    """Hold the run ``name`` of this checkout, or of a project; waits, saying so, while another
    process has it.

    Snakemake's own locks outlive a killed process; this one does not. What a killed command left
    running is waited for, and ended. Raises MissingEnvironment where that cannot be.
    """
    path = lock_path(home, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(path, f"another process is at run '{name}' of {home}; waiting for it"):
        path.write_text(str(owners.myself()))
        end_leftovers(home / RESULTS / name)
        yield


def leave_with_owner(environ: Mapping[str, str], lock: Path) -> bool:
    """Have this process ended, as by a signal, when the command is gone that it works for.

    False where that is so already. Of a command on another machine nothing is seen but ``lock``,
    the run's: there the step ends when a later command has the run.
    """
    owner = owner_in(environ)
    if owner is None:
        return True
    if is_over(owner, lock):
        return False
    threading.Thread(target=_watch, args=(owner, lock), daemon=True).start()
    return True


def is_over(owner: owners.Owner, lock: Path) -> bool:
    """Return whether a command is gone, or has lost its run to a later one."""
    if owners.is_gone(owner, owners.myself()):
        return True
    try:
        holder = owners.parse(lock.read_text())
    except OSError:
        return False
    return holder is not None and holder != owner


def _watch(owner: owners.Owner, lock: Path) -> None:
    """Wait for the end of a command; then ask this process to end, and see to it."""
    while not is_over(owner, lock):
        _wait(owner)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(128 + signal.SIGTERM)


def _wait(owner: owners.Owner) -> None:
    """Return when a command on this machine ends, or after a while."""
    me = owners.myself()
    if not owners.is_in_sight(owner, me):
        time.sleep(FAR_POLL_S)
        return
    try:
        descriptor = os.pidfd_open(owner.pid)
    except OSError:  # it has ended, or the kernel is an old one
        time.sleep(POLL_S)
        return
    try:
        if not owners.is_gone(owner, me):  # the number is still that process's
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(FAR_POLL_S * 1000)
    finally:
        os.close(descriptor)
