"""Forked processes that get ready side by side, and then have the GPU one after the other.

Opening CUDA, drawing inputs, asking the oracle and compiling leave the GPU idle for most of their
time, so processes of one comparison do that together. What is timed is done alone: the others wait,
with nothing enqueued, and none ends before the last has been timed, for that frees memory.
"""

import mmap
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

POLL_S = 0.005
"""How often a waiting process looks whether it is its turn."""


class _State(IntEnum):
    PREPARING = 0
    READY = 1
    INSIDE = 2
    DONE = 3
    FREE = 4


class Relay:
    """Who of some forked processes, numbered from 0, has the GPU to itself."""

    def __init__(self, count: int) -> None:
        self._board: Any = mmap.mmap(-1, count)
        self._count = count

    def close(self) -> None:
        """Let go of the memory that the processes share; for the parent."""
        self._board.close()

    @contextmanager
    def alone(self, number: int) -> Iterator[list[float]]:
        """For a child: wait for its turn, then for the others' ends; yields both waits' seconds."""
        waited: list[float] = []
        self._wait(number, _State.READY, _State.INSIDE, waited)
        yield waited
        self._wait(number, _State.DONE, _State.FREE, waited)

    def _wait(self, number: int, now: _State, until: _State, waited: list[float]) -> None:
        began = time.monotonic()
        self._board[number] = now
        while self._board[number] < until:
            time.sleep(POLL_S)
        waited.append(time.monotonic() - began)

    def poll(self, running: Container[int]) -> int | None:
        """Return who has the GPU to itself, for the parent; ``running``: who has not ended.

        The first goes in when all are ready, the next when it is done, and all are let go at last.
        """
        left = [number for number in range(self._count) if number in running]
        states = {number: _State(self._board[number]) for number in left}
        if _State.PREPARING in states.values():
            return None
        for number, state in states.items():
            if state is _State.INSIDE:
                return number
            if state is _State.READY:
                self._board[number] = _State.INSIDE
                return number
        for number in left:
            self._board[number] = _State.FREE
        return None
