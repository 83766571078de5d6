"""Timing a turn: consecutive launches of one arm, each between its own pair of CUDA events."""

import secrets
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from assay.device.kernels.inputs import Tensor
from assay.device.kernels.prepared import as_it_is
from assay.device.timing.clocks import Clocks, CycleCounter
from assay.device.worker.cuda import DEVICE, hold_all, record_all, reset_persisting_lines
from assay.shared.limits import lead_ms, settling_launches, turn_samples
from assay.shared.specs import ProtocolSpec

FLUSH_FACTOR = 2
"""Bytes written before a cold launch, in units of the L2 size: what was there is evicted."""
CYCLES_PER_MS = 2_000_000
"""Spin cycles for one millisecond at 2 GHz; a slower clock only spins longer."""

STILL_MS = 0.02
"""By which work on another stream may outlast the timed one unseen: an event is good to less."""

wait_for_gpu: Callable[[], object] = torch.cuda.synchronize
"""As it was before a stranger's code could replace it: the guard tells of that afterwards, and a
turn that did not wait would end in an error instead."""


draw = secrets.randbelow
"""Likewise; what it gives follows from no state that could be read."""


def nothing(*_told: object) -> None:
    """Most of what may be called does nothing."""


def nothing_before(_number: int) -> None:
    """Most launches need nothing ahead of them."""


@dataclass(frozen=True)
class Timing:
    """One turn: event times of each launch, host time to enqueue one, mean SM clock if known."""

    times_ms: list[float]
    host_ms: float
    clock_mhz: float | None = None
    after_ms: float = 0.0
    """How much longer than the stream that is timed others had work, where they are watched."""


@dataclass(frozen=True)
class Keep:
    """The launch of a turn whose output is kept for a check, and the place it is copied to."""

    number: int | None
    """Of the launch, counted from 0. None for one of all, equally likely, that nobody knows of
    before it has ended: not even who reads the memory of this process."""
    into: Tensor
    arranged: Callable[[Tensor], Tensor] = as_it_is
    """Put an output into the operation's shape first."""
    taken: Callable[[], object] = nothing
    """Called when an output was copied, before anything else changes."""

    def wants(self, number: int) -> bool:
        """Return whether the output of a launch that has ended is to be copied."""
        return draw(number + 1) == 0 if self.number is None else number == self.number


def _event() -> Any:
    return torch.cuda.Event(enable_timing=True)


def _wait(lead_ms: float) -> None:
    """Wait until the GPU has nothing to do, then let the host run ahead of it."""
    wait_for_gpu()
    if lead_ms > 0:
        torch.cuda._sleep(int(lead_ms * CYCLES_PER_MS))


def copy_output(output: Tensor, keep: Keep) -> None:
    """Copy a kept output. Raises ValueError when it has another shape than the operation's."""
    output = keep.arranged(output)
    if tuple(output.shape) != tuple(keep.into.shape):
        raise ValueError(f"output is {tuple(output.shape)}, not {tuple(keep.into.shape)}")
    keep.into.copy_(output)
    keep.taken()


class CudaStopwatch:
    """Enqueues a whole turn and synchronises once, at its end."""

    def __init__(self, cold: bool, counter: CycleCounter | None = None) -> None:
        size = FLUSH_FACTOR * int(torch.cuda.get_device_properties(0).L2_cache_size)
        self._flush: Any = torch.empty(size, dtype=torch.uint8, device=DEVICE) if cold else None
        self._counter = counter

    def turn(
        self,
        launch: Callable[[], Tensor],
        samples: int,
        lead_ms: float = 0.0,
        before: Callable[[int], None] = nothing_before,
        keeps: Sequence[Keep] = (),
        look: Callable[[], object] | None = None,
    ) -> Timing:
        """Time ``samples`` launches; ``before`` is called ahead of each, outside its timing.

        ``lead_ms`` of idle GPU work go first, so that the host runs ahead of the GPU. ``look`` is
        for a stranger's launches: it is called behind some of them, one a turn in the mean, drawn
        when they have been enqueued; and what is left on other streams at the end is timed, too.
        Raises RuntimeError for any CUDA error of the turn.
        """
        events = [tuple(_event() for _ in range(2)) for _ in range(samples)]
        numbered = (each.number for each in keeps if each.number is not None)
        alone, all_done, free = next(numbered, None) if look else None, _event(), _event()
        reset_persisting_lines()
        _wait(lead_ms)
        self._stamp(0)
        began = time.monotonic()
        for number, (start, stop) in enumerate(events):
            if number == alone:  # no other work may run until it begins
                _wait(lead_ms)
            before(number)
            if self._flush is not None:
                # Enqueued before the start event: it evicts L2 and hides the launch gap.
                self._flush.zero_()
            start.record()
            if number == alone:
                hold_all(start)
            output = launch()
            stop.record()
            for keep in keeps:
                if keep.wants(number):
                    # In stream order, before the host waits: work that a launch left on another
                    # stream is missing here.
                    copy_output(output, keep)
            if look is not None and draw(samples) == 0:
                look()
                _wait(lead_ms)
        host_ms = (time.monotonic() - began) * 1e3 / samples
        if look is not None:
            record_all(all_done)
            free.record()
        self._stamp(1)
        wait_for_gpu()
        times = [start.elapsed_time(stop) for start, stop in events]
        clock = self._counter.read() if self._counter else None
        after = free.elapsed_time(all_done) if look is not None else 0.0
        return Timing(times, host_ms, clock, after)

    def _stamp(self, which: int) -> None:
        """Note cycles and time; a counter that fails is given up, the turn is not."""
        if self._counter is not None:
            try:
                self._counter.stamp(which)
            except Clocks:
                self._counter = None


def settle(
    stopwatch: CudaStopwatch,
    launch: Callable[[], Tensor],
    launches: int,
    before: Callable[[int], None],
) -> float:
    """Launch as a turn does, for the state the GPU gets into; returns the event time in ms."""
    return sum(stopwatch.turn(launch, launches, before=before).times_ms) if launches else 0.0


@dataclass(frozen=True)
class WarmUp:
    """The time that warming an arm up took, and the settings that follow from it."""

    gpu_ms: float
    """Sum of all event times."""
    lead_ms: float
    """Lead for the arm's timed turns."""
    samples: int
    """Launches of each timed turn."""
    settling: int
    """Launches before each timed turn that are not counted."""


def launch_first(
    stopwatch: CudaStopwatch, launch: Callable[[], Tensor], before: Callable[[int], None]
) -> None:
    """Launch once. It compiles and loads, and says nothing of the GPU's state."""
    stopwatch.turn(launch, 1, before=before)


def warm_up(
    stopwatch: CudaStopwatch,
    launch: Callable[[], Tensor],
    rules: ProtocolSpec,
    clock: Callable[[], float] = time.monotonic,
    before: Callable[[int], None] = nothing_before,
) -> WarmUp:
    """Launch until two batch medians agree, within the protocol's least and most time."""
    began, previous, hosts, total = clock(), None, [], 0.0
    while True:
        timing = stopwatch.turn(launch, rules.samples, before=before)
        total += sum(timing.times_ms)
        hosts.append(timing.host_ms)
        median = statistics.median(timing.times_ms)
        elapsed_ms = (clock() - began) * 1e3
        stable = (
            previous is not None
            and abs(median - previous) < rules.warmup_stable_fraction * previous
        )
        if (stable and elapsed_ms >= rules.warmup_min_ms) or elapsed_ms >= rules.warmup_max_ms:
            samples = turn_samples(rules, median)
            lead = lead_ms(statistics.median(hosts), median, samples)
            return WarmUp(total, lead, samples, settling_launches(rules, median))
        previous = median
