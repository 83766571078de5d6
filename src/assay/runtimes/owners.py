"""The command that a container or a process works for, and what it left when it was killed.

A killed command ends nobody. What it started ends by itself, for its environment names the
command, or by the kernel (see ``shared.processes``). A container carries the name as a label, and
whoever uses that engine next removes it.
"""

import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LABEL = "assay.owner"
"""Label of every container of ours."""
VARIABLE = "ASSAY_RUN_OWNER"
"""Names the command that a process works for."""
ENDED = ("Z", "X")
"""States of a process that ended, and whose parent has not looked yet."""


def name_of(pid: int) -> str:
    """Return a name of one process, told apart from every other one: ids are used again.

    Its machine, that machine's start, the namespace in which its id means something, the id, and
    its own start.
    """
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
    """Return whether a process certainly ended.

    Of one on another machine or in another process-id namespace nothing is known, so it counts as
    living; none outlives its machine's start. So does what is no name of ours.
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


def environments() -> Iterator[tuple[int, list[bytes]]]:
    """Yield every process that may be looked into, with the variables it was started with.

    One that has ended and only waits to be told of has none any more.
    """
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(folder.name), (folder / "environ").read_bytes().split(b"\0")
