"""Two clusters where one was expected: shown beside a figure, never averaged away. Pure.

A machine that runs at two clocks, or a kernel with a lucky and an unlucky memory placement, has two
figures. A set of logs is called bimodal when the best split into two groups leaves them far apart:
the gap between the groups' medians is material (``mode_gap``), no group is a handful of strays, and
the distance between the groups' means is many times (``mode_separation``) the scatter inside them
(Ashman's D; one normal population, split at its best, gives 2.7 and a uniform one 3.5).
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.records.workloads import Judging

FEWEST_SHARE = 0.1
"""A smaller group is strays, not a mode: one block in ten, or a launch that was interrupted."""

FEW = 10
"""Fewer values than this fall into two groups by chance: these must be twice as far apart. Five
normal process values are then called bimodal once in a hundred times."""

FEWEST = 2
"""Members of a group, at the least: one process apart from four is an outlier."""


@dataclass(frozen=True)
class Modes:
    """Two groups of values: the median of each (logs) and the share of the first."""

    of: Literal["processes", "blocks", "launches"]
    first: float
    second: float
    share: float

    def moved(self, shift: float, sign: float) -> "Modes":
        """Return the modes of ``shift + sign * x``."""
        first, second = shift + sign * self.first, shift + sign * self.second
        return replace(self, first=first, second=second)

    def values(self) -> tuple[float, float]:
        """Return both medians on the linear scale."""
        return math.exp(self.first), math.exp(self.second)


def two_modes(
    values: NDArray[np.float64], of: Literal["processes", "blocks", "launches"], judging: Judging
) -> Modes | None:
    """Return the two groups of ``values``, or None where one group describes them."""
    ordered = np.sort(values)
    count = len(ordered)
    fewest = max(FEWEST, math.ceil(FEWEST_SHARE * count))
    if count < 2 * fewest or ordered[-1] - ordered[0] <= math.log1p(judging.mode_gap):
        return None
    split = _best_split(ordered, fewest)
    first, second = ordered[:split], ordered[split:]
    apart = float(second.mean() - first.mean())
    scatter = math.sqrt((float(first.var(ddof=1)) + float(second.var(ddof=1))) / 2)
    needed = judging.mode_separation * (2 if count < FEW else 1)
    if apart <= needed * scatter:
        return None
    low, high = float(np.median(first)), float(np.median(second))
    if high - low <= math.log1p(judging.mode_gap):
        return None
    return Modes(of, low, high, split / count)


def _best_split(ordered: NDArray[np.float64], fewest: int) -> int:
    """Size of the first group for which the scatter inside both groups is least."""
    count = len(ordered)
    sizes = np.arange(fewest, count - fewest + 1)
    sums = np.cumsum(ordered - ordered.mean())
    first = sums[sizes - 1]
    between = first**2 / sizes + first**2 / (count - sizes)
    return int(sizes[np.argmax(between)])
