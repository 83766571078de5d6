"""Signals by which somebody asks a process of ours to end.

Standard library only: the launcher uses this before anything is installed.
"""

import signal
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals by which somebody asks a process to end."""


class SignalledExit(SystemExit):
    """A signal asked this process to end; ``code`` is 128 and the signal's number, as shells say.

    143 for SIGTERM, that is, and not Ctrl-C's 130: who sent it can tell the two apart.
    """

    code: int


def leave_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does: through every ``finally``.

    Children are ended, containers removed and half-written files taken away on the way.
    """

    def leave(number: int, frame: FrameType | None) -> None:
        raise SignalledExit(128 + number)

    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            way = signal.default_int_handler if number == signal.SIGINT else leave
            signal.signal(number, way)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)  # which ./assay holds back until here
