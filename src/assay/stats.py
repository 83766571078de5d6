"""Statistics of raw samples: arms, paired ratios, the A/A noise floor. Pure and deterministic.

All summaries are on the natural-log scale, where a ratio is a difference and a margin is
symmetric. The same record and the same ``Judging`` give the same numbers.

The unit of replication is the fresh process (Kalibera & Jones 2013): launches of one process share
its memory placement and clock history and are not independent. A process's value is the median over
its usable blocks of the block's own value; the estimate is the median over processes.

The interval is the hull of two intervals:

* a t-interval on the process values with (processes - 1) degrees of freedom. With five processes a
  percentile bootstrap of anything resamples five numbers and covers well below its nominal level;
  the t quantile (2.13 instead of 1.64 at 90 %) is what few processes cost;
* a hierarchical percentile bootstrap (processes first, then blocks inside each) of the estimate
  itself. It is the wider one where blocks scatter more than processes show, and where the values
  are skewed so that median and mean part.

The hull errs towards width: in the simulations of tests/test_stats.py a 90 % interval of five
processes holds the truth in 93 to 99 % of cases (most where blocks scatter more than processes: the
bootstrap then counts their scatter twice). A verdict may be ``inconclusive`` too often; it is not
bold too often.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

from assay.records.measurements import BenchmarkRecord, Block, Process
from assay.records.workloads import Judging

CONTROL = "control"
"""Name under which the A/A arm takes its second set of turns."""

MIN_PROCESSES = 5
"""Fewest fresh processes a verdict may rest on (the measurement page's rule)."""

FloatArray = NDArray[np.float64]
BlockValue = Callable[[Block], float | None]


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

    def value(self) -> float:
        """The estimate on the linear scale."""
        return math.exp(self.estimate)

    def interval(self) -> tuple[float, float]:
        """The interval on the linear scale."""
        return math.exp(self.low), math.exp(self.high)

    def scaled(self, factor: float) -> "Summary":
        """The same quantity times a positive constant."""
        shift = math.log(factor)
        return self._with(self.estimate + shift, self.low + shift, self.high + shift)

    def inverse(self, numerator: float = 1.0) -> "Summary":
        """``numerator`` over this quantity: a rate from a time."""
        shift = math.log(numerator)
        return self._with(shift - self.estimate, shift - self.high, shift - self.low)

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
        )

    def _with(self, estimate: float, low: float, high: float) -> "Summary":
        counts = (self.processes, self.blocks, self.samples, self.discarded_blocks)
        return Summary(estimate, low, high, *counts)


def arm_time(record: BenchmarkRecord, arm: str, judging: Judging) -> Summary | None:
    """Time of one launch of ``arm``, ln(ms). None where fewer than two processes have a block."""

    def block_value(block: Block) -> float | None:
        times = _times(block, arm)
        return math.log(statistics.median(times)) if times else None

    return _summarise_record(record, block_value, (arm,), judging)


def time_ratio(record: BenchmarkRecord, arm: str, over: str, judging: Judging) -> Summary | None:
    """ln(time(over) / time(arm)): how many times faster ``arm`` is, paired within each block.

    None where fewer than two processes have a block with both arms.
    """

    def block_value(block: Block) -> float | None:
        mine, theirs = _times(block, arm), _times(block, over)
        return (
            math.log(statistics.median(theirs) / statistics.median(mine))
            if mine and theirs
            else None
        )

    return _summarise_record(record, block_value, (arm, over), judging)


def noise_floor(record: BenchmarkRecord, control: str, judging: Judging) -> float | None:
    """Largest |log ratio| inside the interval of the A/A control, as a fraction (0.01 = 1 %).

    None where the record holds no usable pair of the control arm and its second name.
    """
    summary = time_ratio(record, control, CONTROL, judging)
    if summary is None:
        return None
    return math.expm1(max(abs(summary.low), abs(summary.high)))


def repeated_runs(values: Sequence[float], judging: Judging) -> Summary | None:
    """A positive figure printed by independent runs of a program: each run is one process."""
    if len(values) < 2:
        return None
    return summarise([[math.log(value)] for value in values], len(values), 0, judging)


def summarise(
    processes: Sequence[Sequence[float]], samples: int, discarded: int, judging: Judging
) -> Summary:
    """Summary of log values, one sequence of block values a process; needs two processes."""
    if len(processes) < 2 or not all(processes):
        raise ValueError("a summary needs at least two processes, each with a block")
    counts = np.array([len(blocks) for blocks in processes])
    padded = np.full((len(processes), int(counts.max())), np.inf)
    for row, blocks in zip(padded, processes, strict=True):
        row[: len(blocks)] = blocks
    centres = _median_of_first(padded, counts)
    estimate = float(np.median(centres))
    t_low, t_high = _t_interval(centres, judging.confidence)
    b_low, b_high = _bootstrap_interval(padded, counts, judging)
    return Summary(
        estimate=estimate,
        low=min(t_low, b_low, estimate),
        high=max(t_high, b_high, estimate),
        processes=len(processes),
        blocks=int(counts.sum()),
        samples=samples,
        discarded_blocks=discarded,
    )


def _t_interval(centres: FloatArray, confidence: float) -> tuple[float, float]:
    mean = float(np.mean(centres))
    error = float(np.std(centres, ddof=1)) / math.sqrt(len(centres))
    half = float(student_t.ppf((1 + confidence) / 2, len(centres) - 1)) * error
    return mean - half, mean + half


def _bootstrap_interval(
    padded: FloatArray, counts: NDArray[np.int64], judging: Judging
) -> tuple[float, float]:
    """Percentile interval of the median of process medians; ``padded`` is [processes, blocks]."""
    generator = np.random.Generator(np.random.PCG64(judging.bootstrap_seed))
    processes, width = padded.shape
    chosen = generator.integers(processes, size=(judging.bootstrap_resamples, processes))
    sizes = counts[chosen]
    draws = generator.random((*chosen.shape, width))
    blocks = (draws * sizes[..., None]).astype(np.int64)
    values = padded[chosen[..., None], blocks]
    values[np.arange(width) >= sizes[..., None]] = np.inf
    medians = np.median(_median_of_first(values, sizes), axis=-1)
    tail = (1 - judging.confidence) / 2
    low, high = np.quantile(medians, (tail, 1 - tail))
    return float(low), float(high)


def _median_of_first(values: FloatArray, counts: NDArray[np.int64]) -> FloatArray:
    """Median over the last axis of the ``counts`` finite entries; the rest are +inf."""
    ordered = np.sort(values, axis=-1)
    lower = np.take_along_axis(ordered, ((counts - 1) // 2)[..., None], axis=-1)
    upper = np.take_along_axis(ordered, (counts // 2)[..., None], axis=-1)
    middle: FloatArray = (0.5 * (lower + upper))[..., 0]
    return middle


def _summarise_record(
    record: BenchmarkRecord,
    block_value: BlockValue,
    arms: tuple[str, ...],
    judging: Judging,
) -> Summary | None:
    usable = [_usable_blocks(process) for process in record.processes]
    values = [
        [value for block in blocks if (value := block_value(block)) is not None]
        for blocks in usable
    ]
    values = [blocks for blocks in values if blocks]
    if len(values) < 2:
        return None
    samples = sum(len(_times(block, arm)) for blocks in usable for block in blocks for arm in arms)
    return summarise(values, samples, discarded_blocks(record), judging)


def discarded_blocks(record: BenchmarkRecord) -> int:
    """Blocks that do not count, over all processes."""
    return sum(block.void is not None for process in record.processes for block in process.blocks)


def _usable_blocks(process: Process) -> list[Block]:
    return [block for block in process.blocks if block.void is None]


def _times(block: Block, arm: str) -> list[float]:
    return [time for turn in block.turns if turn.arm == arm for time in turn.times_ms]
