"""Signals by which a process of ours is asked to end, and by which a deadline ends work.

Standard library only: the launcher uses this before anything is installed.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from assay.base.errors import CheckFailed


class SignalledExit(SystemExit):
    """A signal asked this process to end; ``code`` is 128 and the signal's number, as shells say.

    143 for SIGTERM, that is, and not Ctrl-C's 130: who sent it can tell the two apart.
    """

    code: int


def leave_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does: through every ``finally``."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SignalledExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, leave)


class OutOfTime(CheckFailed):
    """Work that was not done by its deadline; what it had started is ended."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the body after ``seconds``, in the main thread alone. They do not nest.
    Runtimes end what they started when the caller raises.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(number: int, frame: FrameType | None) -> None:
        raise OutOfTime(f"stopped after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def left_until(end: float) -> float:
    """Return seconds to a monotonic time; OutOfTime where it has passed."""
    left = end - time.monotonic()
    if left <= 0:
        raise OutOfTime("no time was left for it")
    return left
