"""The process that started a container, so that a later one can tell whether it still lives."""

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

LABEL = "assay.owner"
"""Label of every container of ours."""
ENDED = ("Z", "X")
"""States of a process that ended, and whose parent has not looked yet."""
_PATTERN = re.compile(r"([^/]+)/([0-9a-f-]+)/([^/]+)/(\d+)/(\d+)")


@dataclass(frozen=True)
class Owner:
    """One process, told apart from every other one: process ids are used again."""

    host: str
    boot: str
    namespace: str
    """The process-id namespace: a number means something only inside of its own."""
    pid: int
    started: int
    """Start time in clock ticks since boot."""

    def __str__(self) -> str:
        return f"{self.host}/{self.boot}/{self.namespace}/{self.pid}/{self.started}"


def parse(text: str) -> Owner | None:
    """Return the owner that a label names; None for a label that we did not write."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    host, boot, namespace, pid, started = match.groups()
    return Owner(host, boot, namespace, int(pid), int(started))


def myself() -> Owner:
    """Return the calling process."""
    state = _state(os.getpid())
    assert state is not None, "/proc is mounted wherever containers run"
    return Owner(
        host=_host(),
        boot=Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        namespace=_namespace(),
        pid=os.getpid(),
        started=state[1],
    )


def is_in_sight(owner: Owner, me: Owner) -> bool:
    """Return whether a process's number means to ``me`` what it means to itself."""
    return (owner.host, owner.boot, owner.namespace) == (me.host, me.boot, me.namespace)


def is_gone(owner: Owner, me: Owner) -> bool:
    """Return whether ``owner`` certainly ended, as seen by ``me``.

    Of a process on another machine or in another process-id namespace nothing is known, so it
    counts as living; none outlives its machine's start.
    """
    if not is_in_sight(owner, me):
        return owner.host == me.host and owner.boot != me.boot
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # someone else's, and it lives
    state = _state(owner.pid)
    return state is not None and (state[0] in ENDED or state[1] != owner.started)


def _host() -> str:
    try:
        machine = Path("/etc/machine-id").read_text().strip()
    except OSError:
        machine = ""
    return f"{platform.node() or 'localhost'}+{machine}".replace("/", "_")


def _namespace() -> str:
    return str(Path("/proc/self/ns/pid").readlink())


def _state(pid: int) -> tuple[str, int] | None:
    """Return the state of a process and its start time; None when they cannot be read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The second field is the program's name in parentheses and may hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    return fields[0], int(fields[19])
