"""What a process takes: wall time by phases, device memory by arms."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from assay.device.kernels.inputs import ROWS, Inputs
from assay.shared.attention_call import COLUMNS

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

    def record(self) -> dict[str, float]:
        """Return seconds of each phase so far."""
        return {name: round(seconds, DIGITS) for name, seconds in self._seconds.items()}


def wall_record(phases: dict[str, float], seconds: float) -> dict[str, float]:
    """Return the Wall record of a process that took ``seconds`` from fork to exit."""
    rest = max(0.0, seconds - sum(phases.values()))
    return {**phases, "rest": round(rest, DIGITS)}


class MemoryWatch:
    """What one arm takes beside its inputs: kept from binding it, and the most that its first
    launches held beyond that. Nothing is known where there is no GPU.
    """

    def __init__(self, device: str) -> None:
        self._cuda: Any = torch.cuda if device.startswith("cuda") else None
        self._begin = 0
        self._kept: dict[str, int] = {}
        self._most: dict[str, int] = {}

    def start(self) -> None:
        """Begin to count; what is allocated now is somebody else's."""
        if self._cuda is not None:
            self._begin = self._cuda.memory_allocated()
            self._cuda.reset_peak_memory_stats()

    def bound(self, arm: str) -> None:
        """Note what binding an arm left allocated since ``start``."""
        if self._cuda is not None:
            self._kept[arm] = max(0, self._cuda.memory_allocated() - self._begin)

    def launched(self, arm: str) -> None:
        """Note the most that an arm's launches held since ``start``."""
        if self._cuda is not None:
            self._most[arm] = max(0, self._cuda.max_memory_allocated() - self._begin)

    def launch_bytes(self, arm: str) -> int | None:
        """Return the bytes beside the inputs; None where nothing was watched."""
        if arm not in self._kept or arm not in self._most:
            return None
        return self._kept[arm] + self._most[arm]


def input_bytes(inputs: Inputs) -> int:
    """Return the bytes of all tensors that a launch reads: of V in FP8 one of its orders."""
    read = [tensor for name, tensor in inputs.tensors.items() if name not in (COLUMNS, ROWS)]
    return sum(tensor.numel() * tensor.element_size() for tensor in read)
