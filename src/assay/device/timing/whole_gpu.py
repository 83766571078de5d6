"""Events of all that this process has given the GPU, on whatever stream (CUDA 12.5 or later).

A launch may leave work on another stream than the one that is timed. It may even run there while
the GPU is made ready for a launch, and have a right answer by the time that the launch begins.
"""

import ctypes
from functools import cache
from typing import Any

STILL_MS = 0.02
"""By which work on another stream may outlast the timed one unseen: an event is good to less."""


def record_all(event: Any) -> None:
    """Record a torch.cuda.Event behind all work of the context. Raises RuntimeError."""
    event.record()  # this makes it
    _ask("cuCtxRecordEvent", event)


def hold_all(event: Any) -> None:
    """Make all work that comes later, on any stream, wait for an event. Raises RuntimeError."""
    _ask("cuCtxWaitEvent", event)


@cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


def _ask(name: str, event: Any) -> None:
    context = ctypes.c_void_p()
    code = _driver().cuCtxGetCurrent(ctypes.byref(context))
    handle = ctypes.c_void_p(event.cuda_event)
    code = code or getattr(_driver(), name)(context, handle)
    if code:
        raise RuntimeError(f"CUDA's driver refuses {name}: error {code}")
