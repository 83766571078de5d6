"""Timing a turn: consecutive launches of one arm, each between its own pair of CUDA events."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from assay.device.cuda import DEVICE, reset_persisting_lines
from assay.device.inputs import Tensor
from assay.device.jobs import Protocol as Rules

FLUSH_FACTOR = 2
"""Bytes written before a cold launch, in units of the L2 size: what was there is evicted."""
CYCLES_PER_MS = 2_000_000
"""Spin cycles for one millisecond at 2 GHz; a slower clock only spins longer."""
MAX_LEAD_MS = 20.0


@dataclass(frozen=True)
class Timing:
    """One turn: event times of each launch, host time to enqueue one, the last output if kept."""

    times_ms: list[float]
    host_ms: float
    output: Tensor | None


class Stopwatch(Protocol):
    """What times a turn; tests put a host clock here."""

    def turn(
        self,
        launch: Callable[[], Tensor],
        samples: int,
        lead_ms: float = 0.0,
        poison: Callable[[], None] | None = None,
    ) -> Timing:
        """Time ``samples`` launches; with ``poison``, call it before the last and keep the output.

        ``lead_ms`` of idle GPU work go first, so that the host runs ahead of the GPU.
        """


class CudaStopwatch:
    """Enqueues a whole turn and synchronises once, at its end."""

    def __init__(self, cold: bool) -> None:
        size = FLUSH_FACTOR * int(torch.cuda.get_device_properties(0).L2_cache_size)
        self._flush: Any = torch.empty(size, dtype=torch.uint8, device=DEVICE) if cold else None

    def turn(
        self,
        launch: Callable[[], Tensor],
        samples: int,
        lead_ms: float = 0.0,
        poison: Callable[[], None] | None = None,
    ) -> Timing:
        """See Stopwatch. Raises RuntimeError for any CUDA error of the turn."""
        events = [
            tuple(torch.cuda.Event(enable_timing=True) for _ in range(2)) for _ in range(samples)
        ]
        reset_persisting_lines()
        torch.cuda.synchronize()
        if lead_ms > 0:
            torch.cuda._sleep(int(lead_ms * CYCLES_PER_MS))
        began = time.monotonic()
        output = None
        for number, (start, stop) in enumerate(events, start=1):
            if number == samples and poison is not None:
                poison()
            if self._flush is not None:
                # Enqueued before the start event: it evicts L2 and hides the launch gap.
                self._flush.zero_()
            start.record()
            output = launch()
            stop.record()
        # Copied in stream order, before the host waits: work that a launch left on another stream
        # would be missing here.
        kept = None if poison is None or output is None else output.clone()
        host_ms = (time.monotonic() - began) * 1e3 / samples
        torch.cuda.synchronize()
        return Timing([start.elapsed_time(stop) for start, stop in events], host_ms, kept)


def lead_ms(host_ms: float, gpu_ms: float, samples: int) -> float:
    """Lead a turn needs: two launches' worth, or the whole turn where the host is the slower side.

    ``host_ms`` to enqueue and ``gpu_ms`` to run one launch. At most MAX_LEAD_MS.
    """
    launches = 2 if host_ms < gpu_ms else samples
    return min(MAX_LEAD_MS, 1.2 * host_ms * launches)


@dataclass(frozen=True)
class WarmUp:
    """What warming an arm up took, and what it told."""

    gpu_ms: float
    """Sum of all event times."""
    lead_ms: float
    """Lead for the arm's timed turns."""


def warm_up(
    stopwatch: Stopwatch,
    launch: Callable[[], Tensor],
    rules: Rules,
    clock: Callable[[], float] = time.monotonic,
) -> WarmUp:
    """Launch until two successive batch medians agree, within the protocol's least and most time.

    The first launch stands apart: it compiles and loads, and says nothing of the GPU's state.
    """
    total = sum(stopwatch.turn(launch, 1).times_ms)
    began, previous, hosts = clock(), None, []
    while True:
        timing = stopwatch.turn(launch, rules.samples)
        total += sum(timing.times_ms)
        hosts.append(timing.host_ms)
        median = statistics.median(timing.times_ms)
        elapsed_ms = (clock() - began) * 1e3
        stable = (
            previous is not None
            and abs(median - previous) < rules.warmup_stable_fraction * previous
        )
        if (stable and elapsed_ms >= rules.warmup_min_ms) or elapsed_ms >= rules.warmup_max_ms:
            lead = lead_ms(statistics.median(hosts), median, rules.samples)
            return WarmUp(total, lead)
        previous = median
