"""What is asked of a turn, and how Python takes one where no compiler made the helper of turn.c."""

import ctypes
import secrets
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from assay.device.worker.cuda import ask, driver
from assay.shared.specs import Json


class AskedTurn(ctypes.Structure):
    """What is asked of a turn: ``struct turn`` of turn.c, which says what each part is."""

    _fields_: ClassVar = [
        *((name, ctypes.py_object) for name in ("launch", "before", "lead", "stamp")),
        *((name, ctypes.py_object) for name in ("keep", "look")),
        ("stream", ctypes.c_void_p),
        ("flush", ctypes.c_uint64),
        ("flush_bytes", ctypes.c_size_t),
        ("numbers", ctypes.POINTER(ctypes.c_int)),
        *((name, ctypes.c_int) for name in ("keeps", "samples", "alone", "watched", "fd")),
    ]  # fmt: skip


def take(turn: AskedTurn) -> Json:
    """Do as ``assay_turn`` of turn.c, in Python, and write nothing. Raises RuntimeError."""
    events = [ctypes.c_void_p() for _ in range(2 * turn.samples + 2)]
    try:
        for event in events:
            ask("cuEventCreate", ctypes.byref(event), 0)
        return _take(turn, events)
    finally:
        for event in events:
            driver().cuEventDestroy_v2(event)


def _take(turn: AskedTurn, events: Sequence[ctypes.c_void_p]) -> Json:
    context, stream = ctypes.c_void_p(), ctypes.c_void_p(turn.stream)
    ended, all_ended = events[-2:]

    def get_ahead() -> None:
        ask("cuCtxSynchronize")
        turn.lead()

    driver().cuCtxResetPersistingL2Cache()
    ask("cuCtxGetCurrent", ctypes.byref(context))
    began = time.monotonic()
    get_ahead()
    first = time.monotonic()
    for number in range(turn.samples):
        start, stop = events[2 * number : 2 * number + 2]
        if number == turn.alone:
            get_ahead()
        turn.before(number)
        if turn.flush_bytes:
            flush = ctypes.c_uint64(turn.flush), 0, ctypes.c_size_t(turn.flush_bytes)
            ask("cuMemsetD8Async", *flush, stream)
        last = number == turn.samples - 1
        if last:
            turn.stamp(0)
        ask("cuEventRecord", start, stream)
        if number == turn.alone:
            ask("cuCtxWaitEvent", context, start)
        output = turn.launch()
        ask("cuEventRecord", stop, stream)
        if last:
            turn.stamp(1)
        for place, wanted in enumerate(turn.numbers[: turn.keeps]):
            if wanted == number or (wanted < 0 and secrets.randbelow(number + 1) == 0):
                turn.keep(place, output)
        if turn.watched and secrets.randbelow(turn.samples) == 0:
            turn.look()
            get_ahead()
    host_ms = (time.monotonic() - first) * 1e3 / turn.samples
    if turn.watched:
        ask("cuCtxRecordEvent", context, all_ended)
        ask("cuEventRecord", ended, stream)
    ask("cuCtxSynchronize")
    return {
        "started": began,
        "ended": time.monotonic(),
        "host_ms": host_ms,
        "after_ms": _elapsed(ended, all_ended) if turn.watched else 0.0,
        "times_ms": [_elapsed(*events[at : at + 2]) for at in range(0, 2 * turn.samples, 2)],
    }


def _elapsed(start: Any, stop: Any) -> float:
    found = ctypes.c_float()
    ask("cuEventElapsedTime", ctypes.byref(found), start, stop)
    return max(0.0, found.value)
