"""The command that a container or a process works for, and what it left when it was killed.

A killed command ends nobody. What it started ends by itself, or by the kernel (see
``shared.parent_death``); what is left all the same, a compiler's own children say, carries the
command's name in its environment, and the run's next start ends it. A container carries it as a
label, and whoever uses that engine next removes it.
"""

import os
import platform
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.base.progress import say

LABEL = "assay.owner"
"""Label of every container of ours."""
VARIABLE = "ASSAY_RUN_OWNER"
"""Names the command that a process works for, and the folder of its run."""
ENDED = ("Z", "X")
"""States of a process that ended, and whose parent has not looked yet."""
STEPS = ((None, 20.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0))
"""What leftovers are sent, and how many seconds they then have: first they may end by
themselves, for containers are removed and half-written files taken away on the way."""
POLL_S = 0.1


def name_of(pid: int) -> str:
    """Return a process's own name, as ids are used again: machine, boot, namespace, id, start."""
    try:
        machine = Path("/etc/machine-id").read_text().strip()
    except OSError:
        machine = ""
    host = f"{platform.node() or 'localhost'}+{machine}".replace("/", "_")
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    _, started = _state(pid) or ("", "0")
    return f"{host}/{boot}/{Path('/proc/self/ns/pid').readlink()}/{pid}/{started}"


def myself() -> str:
    """Return the name of the calling process."""
    return name_of(os.getpid())


def is_gone(owner: str) -> bool:
    """Return whether a process certainly ended: none outlives its machine's start. What is on
    another machine, in another namespace, or named otherwise counts as living.
    """
    host, boot, namespace, pid, started = (owner.split("/") + [""] * 5)[:5]
    our_host, our_boot, our_namespace, *_ = myself().split("/")
    if not pid.isdigit() or (host, boot, namespace) != (our_host, our_boot, our_namespace):
        return host == our_host and boot not in ("", our_boot)
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # someone else's, and it lives
    state = _state(int(pid))
    return state is not None and (state[0] in ENDED or state[1] != started)


def _state(pid: int) -> tuple[str, str] | None:
    """Return a process's state, and its start in clock ticks since boot; None if unreadable."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The second field is the program's name in parentheses and may hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    return fields[0], fields[19]


def variables(run_dir: Path, owner: str) -> dict[str, str]:
    """Return what the processes of a run are started with."""
    return {VARIABLE: f"{owner} {run_dir}"}


def leftovers(run_dir: Path) -> list[int]:
    """Return the processes of a run whose command is gone."""
    found = []
    prefix = f"{VARIABLE}=".encode()
    for pid, entries in environments():
        named = next((entry for entry in entries if entry.startswith(prefix)), b"")
        owner, _, folder = named.removeprefix(prefix).decode(errors="replace").partition(" ")
        if folder == str(run_dir) and pid != os.getpid() and is_gone(owner):
            found.append(pid)
    return found


def end_leftovers(run_dir: Path) -> None:
    """Wait for what a killed command left, then end it. Raises MissingEnvironment if it stays."""
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
    """Yield every process that may be looked into, with its variables; none of an ended one."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(folder.name), (folder / "environ").read_bytes().split(b"\0")
