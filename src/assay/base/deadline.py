"""A deadline for work that waits for another process, on whichever runtime that is."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from assay.base.errors import CheckFailed


class OutOfTime(CheckFailed):
    """Work that was not done by its deadline; what it had started is ended."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the body after ``seconds``, whatever it waits for. They do not nest.

    Runtimes end what they started when the caller raises. Signals reach the main thread alone: in
    any other there is no deadline.
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
