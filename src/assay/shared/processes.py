"""Processes: children that end with their parent, and commands that run to their end.

A kill leaves its victim no time to end anybody, so the kernel does it (prctl(2), PR_SET_PDEATHSIG).
It looks at the *thread* that started the child: one that outlives its child may use this, no other.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

_PR_SET_PDEATHSIG = 1
POLL_S = 0.005


def tied_to_parent(number: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    """Return what a child of this process does first, to get ``number`` when this process ends.

    Make it before the fork, and call it between fork and exec (``preexec_fn``). It takes no lock
    and imports nothing, so it may stand behind a fork of a process with threads. What the child
    executes stays tied; what that starts in turn does not.
    """
    try:
        import ctypes  # noqa: PLC0415 - a Python may lack it, and the launcher greets any

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, AttributeError, OSError):  # a Python without it, another kernel
        return lambda: None
    parent = os.getpid()

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:  # it ended before it could be asked for
            os.kill(os.getpid(), number)

    return tie


def run_to_end(
    command: Sequence[str],
    timeout_s: float,
    tick: Callable[[], object] = lambda: None,
    before: Callable[[], object] = lambda: None,
    **options: Any,
) -> dict[str, Any]:
    """Run a command to its end, calling ``tick`` meanwhile: exit code, seconds, and a remark where
    it outlived ``timeout_s``. What is left of it is killed with its children.

    ``before``: what its process does first. ``options``: of subprocess.Popen.
    """
    began, tie = time.monotonic(), tied_to_parent()

    def begin() -> None:
        tie()
        before()

    process = subprocess.Popen(
        list(command), stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=begin, **options
    )
    remark = ""
    try:
        while process.poll() is None:
            if time.monotonic() - began > timeout_s:
                remark = f"[stopped after {timeout_s:g} s]\n"
                break
            tick()
            time.sleep(POLL_S)
    finally:
        with suppress(ProcessLookupError):  # where nobody of its group is left
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    seconds = round(time.monotonic() - began, 9)
    return {"exit_code": process.returncode, "seconds": seconds, "remark": remark}
