"""The phases of a process, and the wall time that each takes."""

import contextlib
import time
from collections.abc import Callable, Iterator

NAMES = ("start", "inputs", "oracle", "prepare", "first_launch", "warm_up", "turns", "checks")
"""Fields of the Wall record, but for the rest."""
DIGITS = 4


class Phases:
    """A stopwatch of the host for each phase; ``settle`` waits for the GPU before it is read."""

    def __init__(
        self,
        settle: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settle, self._clock = settle, clock
        self._began = clock()
        self._seconds = dict.fromkeys(NAMES, 0.0)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what happens inside, the GPU work it enqueues included, as ``name``."""
        began = self._clock()
        yield
        self._settle()
        self._seconds[name] += self._clock() - began

    def add(self, name: str, seconds: float) -> None:
        """Count time that was measured elsewhere."""
        self._seconds[name] += seconds

    def move(self, source: str, to: str, seconds: float) -> None:
        """Count part of one phase as another."""
        part = min(seconds, self._seconds[source])
        self._seconds[source] -= part
        self._seconds[to] += part

    def record(self) -> dict[str, float]:
        """Return seconds of each phase so far."""
        return {name: round(seconds, DIGITS) for name, seconds in self._seconds.items()}


def wall_record(phases: dict[str, float], seconds: float) -> dict[str, float]:
    """Return the Wall record of a process that took ``seconds`` from fork to exit."""
    rest = max(0.0, seconds - sum(phases.values()))
    return {**phases, "rest": round(rest, DIGITS)}
