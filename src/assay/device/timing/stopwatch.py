"""Timing a turn: consecutive launches of one arm, each between its own pair of CUDA events."""

import ctypes
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch

from assay.device.kernels.inputs import Tensor
from assay.device.kernels.prepared import as_it_is
from assay.device.timing.clocks import Clocks, CycleCounter
from assay.device.timing.turn import AskedTurn, take
from assay.device.worker.cuda import DEVICE
from assay.device.worker.handover import Send
from assay.device.worker.helper import find_driver
from assay.shared.limits import lead_ms, settling_launches, turn_samples
from assay.shared.specs import Json, ProtocolSpec

FLUSH_FACTOR = 2
"""Bytes written before a cold launch, in units of the L2 size: what was there is evicted."""
CYCLES_PER_MS = 2_000_000
"""Spin cycles for one millisecond at 2 GHz; a slower clock only spins longer."""

STILL_MS = 0.02
"""By which work on another stream may outlast the timed one unseen: an event is good to less."""


def nothing(*_told: object) -> None:
    """Most of what may be called does nothing."""


@dataclass(frozen=True)
class Timing:
    """One turn: event times of each launch, host time to enqueue one."""

    times_ms: list[float]
    host_ms: float
    clock_mhz: float | None = None
    """Mean SM clock of the last launch; over the turn it is higher, for flushing L2 takes little
    power."""
    after_ms: float = 0.0
    """How much longer than the stream that is timed others had work, where they are watched."""
    started: float = 0.0
    """On the monotonic clock, in seconds, as ``ended``."""
    ended: float = 0.0
    number: int = -1
    """Of the turns that were handed over; -1 for another."""

    def taken(self) -> Json:
        """Return what the stopwatch hands over."""
        return {name: value for name, value in asdict(self).items() if name != "clock_mhz"}


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


def copy_output(output: Tensor, keep: Keep) -> None:
    """Copy a kept output. Raises ValueError when it has another shape than the operation's."""
    output = keep.arranged(output)
    if tuple(output.shape) != tuple(keep.into.shape):
        raise ValueError(f"output is {tuple(output.shape)}, not {tuple(keep.into.shape)}")
    keep.into.copy_(output)
    keep.taken()


class CudaStopwatch:
    """Enqueues a whole turn and synchronises once, at its end.

    ``hand_over``: what a turn that counts is sent with, before any code of Python runs again.
    Make it before a stranger's code runs. Raises RuntimeError where there is no driver.
    """

    def __init__(
        self, cold: bool, counter: CycleCounter | None = None, hand_over: Send | None = None
    ) -> None:
        size = FLUSH_FACTOR * int(torch.cuda.get_device_properties(0).L2_cache_size) if cold else 0
        self._flush: Any = torch.empty(size, dtype=torch.uint8, device=DEVICE)
        self._counter, self._hand_over = counter, hand_over
        self._helper, self._handed_over = find_driver(), 0

    def turn(
        self,
        launch: Callable[[], Tensor],
        samples: int,
        lead_ms: float = 0.0,
        before: Callable[[int], None] = nothing,
        keeps: Sequence[Keep] = (),
        look: Callable[[], object] | None = None,
        counts: bool = False,
    ) -> Timing:
        """Time ``samples`` launches; ``before`` is called ahead of each, outside its timing.

        ``lead_ms`` of idle GPU work go first, so that the host runs ahead of the GPU. ``look`` is
        for a stranger's launches: it is called behind some of them, one a turn in the mean, drawn
        when they have been enqueued; and what is left on other streams at the end is timed, too.
        A turn that ``counts`` is handed over. Raises RuntimeError for any CUDA error of the turn.
        """
        stream = torch.cuda.current_stream()
        numbers = [-1 if each.number is None else each.number for each in keeps]
        alone = next((number for number in numbers if look and number >= 0), -1)
        cycles = int(lead_ms * CYCLES_PER_MS)
        lead = partial(torch.cuda._sleep, cycles) if cycles > 0 else nothing

        def keep(place: int, output: Tensor) -> None:
            # A launch may have left another stream behind as the current one.
            with torch.cuda.stream(stream):
                copy_output(output, keeps[place])

        asked = AskedTurn(
            launch, before, lead, self._stamp, keep, look or nothing,
            stream.cuda_stream, self._flush.data_ptr(), self._flush.numel(),
            (ctypes.c_int * len(numbers))(*numbers), len(numbers), samples, alone,
            look is not None, self._hand_over.fileno() if counts and self._hand_over else -1,
        )  # fmt: skip
        taken = self._taken(asked)
        return Timing(**taken, clock_mhz=self._counter.read() if self._counter else None)

    def _taken(self, asked: AskedTurn) -> Json:
        if self._helper is not None:
            return dict(json.loads(self._helper.assay_turn(ctypes.byref(asked))))
        found = {**take(asked), "number": -1}
        if self._hand_over is not None and asked.fd >= 0:
            found["number"] = self._handed_over
            self._handed_over += 1
            self._hand_over(found)
        return found

    def _stamp(self, which: int) -> None:
        """Note cycles and time; a counter that fails is given up, the turn is not."""
        if self._counter is not None:
            try:
                self._counter.stamp(which)
            except Clocks:
                self._counter = None


@dataclass(frozen=True)
class WarmUp:
    """The settings that follow from warming an arm up."""

    lead_ms: float
    """Lead for the arm's timed turns."""
    samples: int
    """Launches of each timed turn."""
    settling: int
    """Launches before each timed turn that are not counted."""


def warm_up(
    stopwatch: CudaStopwatch,
    launch: Callable[[], Tensor],
    rules: ProtocolSpec,
    clock: Callable[[], float] = time.monotonic,
    before: Callable[[int], None] = nothing,
) -> WarmUp:
    """Launch until two batch medians agree, within the protocol's least and most time."""
    began, previous, hosts = clock(), None, []
    while True:
        timing = stopwatch.turn(launch, rules.samples, before=before)
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
            return WarmUp(lead, samples, settling_launches(rules, median))
        previous = median
