"""Processes: children that end with their parent, and the processors that one keeps to.

A kill leaves its victim no time to end anybody, so the kernel does it (prctl(2), PR_SET_PDEATHSIG).
It looks at the *thread* that started the child: one that outlives its child may use this, no other.
"""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress

CORES_VARIABLE = "ASSAY_CORES"
"""Numbers of the host's processors, comma-separated: jobs on several GPUs share them out."""
_PR_SET_PDEATHSIG = 1


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
        return _stay
    parent = os.getpid()

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:  # it ended before it could be asked for
            os.kill(os.getpid(), number)

    return tie


def _stay() -> None:
    pass


def keep_to_cores(environment: Mapping[str, str]) -> None:
    """Keep this process, and what it starts, to the processors that it was given.

    A container may have others, or none of them: then it keeps those that it has.
    """
    given = {int(name) for name in environment.get(CORES_VARIABLE, "").split(",") if name.isdigit()}
    with suppress(OSError):
        if ours := given & os.sched_getaffinity(0):
            os.sched_setaffinity(0, ours)
