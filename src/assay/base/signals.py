"""Signals by which somebody asks a process of ours to end, from its first moment to its last.

Standard library only: the launcher uses this before anything is installed.
"""

import os
import signal
import sys
import threading
from types import FrameType

from assay.base.progress import say

AGAIN_S = 0.05
"""After which a signal comes again that arrived where Python lets no exception out."""

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals by which somebody asks a process to end."""

NOT_BEGUN = "interrupted: nothing was begun"


class SignalledExit(SystemExit):
    """A signal asked this process to end; ``code`` is 128 and the signal's number, as shells say.

    143 for SIGTERM, that is, and not Ctrl-C's 130: who sent it can tell the two apart.
    """

    code: int


def leave_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does: through every ``finally``.

    Children are ended, containers removed and half-written files taken away on the way. What
    ``hold_signals`` kept back arrives now.
    """

    def leave(number: int, frame: FrameType | None) -> None:
        raise SignalledExit(128 + number)

    for number in ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, _end_at_once):
            way = signal.default_int_handler if number == signal.SIGINT else leave
            signal.signal(number, way)
    sys.unraisablehook = _send_again
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def _send_again(lost: "sys.UnraisableHookArgs") -> None:
    """Send a signal anew whose exception Python took for nobody's and dropped: one that arrives in
    a hook of a fork, or while an object is let go.
    """
    if isinstance(lost.exc_value, SignalledExit):
        number = lost.exc_value.code - 128
    elif isinstance(lost.exc_value, KeyboardInterrupt):
        number = signal.SIGINT
    else:
        sys.__unraisablehook__(lost)
        return
    main = threading.main_thread().ident
    again = threading.Timer(AGAIN_S, signal.pthread_kill, (main, number))
    again.daemon = True
    again.start()


def hold_signals() -> None:
    """Keep back signals that ask for an end, until this process, or what it becomes, takes them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)


def end_on_signals() -> None:
    """Let a signal end this process with one line, at once: nothing was begun that needs an end."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end_at_once)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def _end_at_once(number: int, frame: FrameType | None) -> None:
    say(NOT_BEGUN)
    os._exit(128 + number)
