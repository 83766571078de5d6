"""Statistics of raw samples: arms, paired ratios, the A/A noise floor. Pure and deterministic.

All summaries are on the natural-log scale, where a ratio is a difference and a margin is
symmetric. The same record and the same ``Judging`` give the same numbers.

A block's value is the median of its samples (both turns of an arm; of a ratio, the difference of
both arms' medians in the same block), a process's value the median of its usable blocks. The figure
is the median of the process values; its interval is that of assay.statistics.intervals, whose level
``python -m tools.simulation`` checks on data of known truth.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from assay.records.measurements import BenchmarkRecord, Block
from assay.records.workloads import FEWEST_FIXED, Judging
from assay.statistics.bimodality import Modes, two_modes
from assay.statistics.intervals import Cells, Interval, half_width, interval
from assay.statistics.looks import at_look, least_half_width

CONTROL = "control"
"""Name under which the A/A arm takes its second set of turns."""

MIN_BLOCKS = 2
"""Fewest usable blocks of a process that counts: one block does not show how blocks scatter."""

MOST_PROCESSES = 100
"""More processes than this are not proposed: what they would settle lies at the edge."""


LEAST_MS = 1e-9
"""Stands for times of zero or less, which have no logarithm: far below any roofline, so that the
judge calls the measurement broken instead of failing."""


@dataclass(frozen=True)
class Summary:
    """Estimate and interval of one quantity, as natural logarithms, and what they rest on."""

    estimate: float
    low: float
    high: float
    processes: int
    blocks: int
    samples: int
    discarded_blocks: int
    spread: float = 0.0
    """Standard deviation between processes."""
    modes: Modes | None = None
    """Two groups into which the processes, blocks or launches fall, or None."""
    fewest: int = FEWEST_FIXED
    """Processes that a verdict on it needs; of a sequential design those of the first look."""

    def value(self) -> float:
        """Return the estimate on the linear scale."""
        return math.exp(self.estimate)

    def interval(self) -> tuple[float, float]:
        """Return the interval on the linear scale."""
        return math.exp(self.low), math.exp(self.high)

    def scaled(self, factor: float) -> "Summary":
        """Return the same quantity times a positive constant."""
        return self._moved(math.log(factor), 1.0)

    def inverse(self, numerator: float = 1.0) -> "Summary":
        """``numerator`` over this quantity: a rate from a time."""
        return self._moved(math.log(numerator), -1.0)

    def _moved(self, shift: float, sign: float) -> "Summary":
        """Return ``shift + sign * x`` for this x, a log."""
        low, high = sorted((shift + sign * self.low, shift + sign * self.high))
        modes = self.modes.moved(shift, sign) if self.modes else None
        return replace(self, estimate=shift + sign * self.estimate, low=low, high=high, modes=modes)

    def over(self, other: "Summary") -> "Summary":
        """This over an independently measured quantity, by interval arithmetic: conservative."""
        return Summary(
            estimate=self.estimate - other.estimate,
            low=self.low - other.high,
            high=self.high - other.low,
            processes=min(self.processes, other.processes),
            blocks=min(self.blocks, other.blocks),
            samples=self.samples + other.samples,
            discarded_blocks=self.discarded_blocks + other.discarded_blocks,
            spread=self.spread + other.spread,
            fewest=min(self.fewest, other.fewest),
        )


KEPT = lru_cache(maxsize=2048)
"""Many claims and pages ask for the same figures of a record."""


@KEPT
def arm_time(record: BenchmarkRecord, arm: str, judging: Judging) -> Summary | None:
    """Time of one launch of ``arm``, ln(ms).

    None where fewer than two processes have two usable blocks.
    """
    return _summarise_record(record, _record_cells(record, (arm,), (1.0,)), judging)


@KEPT
def median_ms(record: BenchmarkRecord, arm: str) -> float | None:
    """Return the estimate of ``arm_time`` on the linear scale, without its interval."""
    cells = _record_cells(record, (arm,), (1.0,))
    return None if cells is None else math.exp(float(np.median(cells.process_values)))


@KEPT
def time_ratio(record: BenchmarkRecord, arm: str, over: str, judging: Judging) -> Summary | None:
    """ln(time(over) / time(arm)): how many times faster ``arm`` is, paired within each block.

    None where fewer than two processes have two usable blocks with both arms.
    """
    return _summarise_record(record, _record_cells(record, (arm, over), (-1.0, 1.0)), judging)


def floor_of(control: Summary | None) -> float | None:
    """Largest |log ratio| inside the interval of an A/A control, as a fraction (0.01 = 1 %)."""
    if control is None:
        return None
    return math.expm1(max(abs(control.low), abs(control.high)))


@KEPT
def repeated_runs(values: tuple[float, ...], judging: Judging) -> Summary | None:
    """Return a positive figure printed by independent runs of a program: each run is one
    process.
    """
    if len(values) < 2:
        return None
    return summarise([[math.log(value)] for value in values], judging)


def processes_needed(spread: float, distance: float, judging: Judging, least: int) -> int | None:
    """Fewest processes, ``least`` or more, whose interval is at most ``distance`` to either side.

    ``spread`` is the standard deviation between processes, taken as known. None where even
    ``MOST_PROCESSES`` do not suffice.
    """
    for processes in range(max(least, FEWEST_FIXED), MOST_PROCESSES + 1):
        if half_width(spread, processes, judging) <= distance:
            return processes
    return None


def summarise(processes: Sequence[Sequence[float]], judging: Judging) -> Summary:
    """Summary of log values, one sequence of block values a process; needs two processes."""
    if len(processes) < 2 or not all(processes):
        raise ValueError("a summary needs at least two processes, each with a block")
    blocks = [[[[value] for value in row] for row in processes]]
    cells = _cells(blocks, (1.0,))
    return summary_of(cells, interval(cells, judging), judging)


def summary_of(cells: Cells, found: Interval, judging: Judging) -> Summary:
    """Summary of the logs of all samples, whose interval is known."""
    centres = cells.process_values
    estimate = float(np.median(centres))
    return Summary(
        estimate=estimate,
        low=min(found.low, estimate),
        high=max(found.high, estimate),
        processes=len(centres),
        blocks=int(cells.blocks.sum()),
        samples=int(cells.counts.sum()),
        discarded_blocks=0,
        spread=found.spread,
        modes=_modes(cells, judging),
    )


def _modes(cells: Cells, judging: Judging) -> Modes | None:
    """Modes of the processes, else of the launches of one arm or the paired blocks of two."""
    found = two_modes(cells.process_values, "processes", judging)
    if found is not None:
        return found
    if len(cells.signs) > 1:
        values = cells.block_values
        return two_modes(values[np.isfinite(values)], "blocks", judging)
    launches = cells.samples[np.isfinite(cells.samples)]
    return two_modes(launches, "launches", judging)


def _cells(logs: Sequence[Sequence[Sequence[Sequence[float]]]], signs: tuple[float, ...]) -> Cells:
    """Cells from nested logs [arms][processes][blocks][samples], ragged below the processes."""
    blocks = np.array([len(process) for process in logs[0]])
    counts = np.zeros((len(logs), len(blocks), int(blocks.max())), dtype=np.int64)
    for a, arm in enumerate(logs):
        for p, process in enumerate(arm):
            counts[a, p, : len(process)] = [len(block) for block in process]
    samples = np.full((*counts.shape, int(counts.max())), np.inf)
    if (counts == samples.shape[-1]).all():
        samples[:] = logs
    else:
        for a, arm in enumerate(logs):
            for p, process in enumerate(arm):
                for number, block in enumerate(process):
                    samples[a, p, number, : len(block)] = block
    samples.sort(axis=-1)
    return Cells(samples, blocks, counts, signs)


def _summarise_record(
    record: BenchmarkRecord, cells: Cells | None, judging: Judging
) -> Summary | None:
    if cells is None:
        return None
    found = summary_at_look(cells, record.looks, len(record.processes), judging)
    return replace(found, discarded_blocks=discarded_blocks(record), fewest=fewest_of(record))


def summary_at_look(cells: Cells, looks: Sequence[int], ran: int, judging: Judging) -> Summary:
    """Summary of the logs of all samples, of which ``ran`` processes were measured by a design of
    these ``looks``.
    """
    rules = at_look(judging, looks, ran)
    summary = summary_of(cells, interval(cells, rules), rules)
    least = least_half_width(judging, looks, summary.processes)
    low, high = summary.estimate - least, summary.estimate + least
    return replace(summary, low=min(summary.low, low), high=max(summary.high, high))


def fewest_of(record: BenchmarkRecord) -> int:
    """Return how many processes a verdict on a comparison needs."""
    return record.looks[0] if record.looks else FEWEST_FIXED


@KEPT
def _record_cells(
    record: BenchmarkRecord, arms: tuple[str, ...], signs: tuple[float, ...]
) -> Cells | None:
    """Samples of the processes that count; None where fewer than two do."""
    processes = [
        usable
        for process in record.processes
        if len(usable := [times for block in process.blocks if (times := _usable(block, arms))])
        >= MIN_BLOCKS
    ]
    if len(processes) < 2:
        return None
    by_arm = [[[block[a] for block in process] for process in processes] for a in range(len(arms))]
    cells = _cells(by_arm, signs)
    return replace(cells, samples=np.log(np.maximum(cells.samples, LEAST_MS)))


def discarded_blocks(record: BenchmarkRecord) -> int:
    """Blocks that do not count, over all processes."""
    return sum(block.void is not None for process in record.processes for block in process.blocks)


def _usable(block: Block, arms: tuple[str, ...]) -> list[list[float]] | None:
    """Times of each arm, or None where the block is void or lacks an arm."""
    if block.void is not None:
        return None
    times = [[t for turn in block.turns if turn.arm == arm for t in turn.times_ms] for arm in arms]
    return times if all(times) else None
