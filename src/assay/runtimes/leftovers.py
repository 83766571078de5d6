"""Processes of a run whose command was killed: they are found by what they were started with.

A killed command ends nobody. What it started ends by itself, or by the kernel (see
``shared.parent_death``); what is left all the same, a compiler's own children for one, carries the
command's name in its environment, and the run's next start ends it.
"""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.base.progress import say
from assay.runtimes import owners

VARIABLE = "ASSAY_RUN_OWNER"
"""Names the command that a process works for, and the folder of its run."""
STEPS = ((None, 20.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0))
"""What leftovers are sent, and how many seconds they then have: first they may end by
themselves, for containers are removed and half-written files taken away on the way."""
POLL_S = 0.1


def variables(run_dir: Path, owner: owners.Owner) -> dict[str, str]:
    """Return what the processes of a run are started with."""
    return {VARIABLE: f"{owner} {run_dir}"}


def passed_on() -> dict[str, str]:
    """Return the same, for processes that get no other variable of ours."""
    return {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}


def owner_in(environ: Mapping[str, str]) -> owners.Owner | None:
    """Return the command that a process works for, where it works for one."""
    return owners.parse(environ.get(VARIABLE, "").partition(" ")[0])


def leftovers(run_dir: Path) -> list[int]:
    """Return the processes of a run whose command is gone."""
    me, found = owners.myself(), list[int]()
    prefix = f"{VARIABLE}=".encode()
    for pid, entries in environments():
        named = next((entry for entry in entries if entry.startswith(prefix)), None)
        if named is None or pid == me.pid:
            continue
        name, _, folder = named.removeprefix(prefix).decode(errors="replace").partition(" ")
        owner = owners.parse(name)
        if folder == str(run_dir) and owner is not None and owners.is_gone(owner, me):
            found.append(pid)
    return found


def end_leftovers(run_dir: Path) -> None:
    """Wait for the processes of a killed command of this run, and end those that stay.

    Raises MissingEnvironment for one that not even a kill ends.
    """
    if not (left := leftovers(run_dir)):
        return
    say(f"run '{run_dir.name}' was killed before; waiting for what it left running")
    for number, patience in STEPS:
        for pid in left:
            if number is not None:
                with suppress(OSError):
                    os.kill(pid, number)
        limit = time.monotonic() + patience
        while (left := leftovers(run_dir)) and time.monotonic() < limit:
            time.sleep(POLL_S)
        if not left:
            return
    raise MissingEnvironment(
        f"process {left[0]} of an earlier start of run '{run_dir.name}' does not end, not even "
        "when it is killed: a driver may hold it; end it, or start the machine again"
    )


def environments() -> Iterator[tuple[int, list[bytes]]]:
    """Yield every process that may be looked into, with the variables it was started with.

    One that has ended and only waits to be told of has none any more.
    """
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(folder.name), (folder / "environ").read_bytes().split(b"\0")
