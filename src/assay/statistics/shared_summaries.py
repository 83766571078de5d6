"""Summaries of benchmark records, each content summarised once. Pure.

Judging and rendering ask for the same arms and pairs of arms over and over. Whoever does both for
one run makes one ``SharedSummaries`` and hands it to both; nothing is kept beyond it.
"""

import numpy as np

from assay.records.measurements import BenchmarkRecord
from assay.records.workloads import Judging
from assay.statistics.intervals import Cells
from assay.statistics.summaries import (
    CONTROL,
    Summary,
    arm_cells,
    discarded_blocks,
    floor_of,
    ratio_cells,
    summarise_cells,
)

ContentKey = tuple[tuple[int, ...], bytes, bytes, tuple[float, ...], int, Judging]
"""Everything that a summary is computed from: shape, logs and counts of all samples, the sign of
each arm, discarded blocks, rules."""


class SharedSummaries:
    """The functions of ``statistics.summaries`` on records, computed once per distinct content.

    Keyed by what goes in and not by which object holds it: records that were read twice share
    their summaries, records that differ in one sample or rules that differ in one figure do not.
    """

    def __init__(self) -> None:
        self._made: dict[ContentKey, Summary] = {}

    def __len__(self) -> int:
        """Return how many different summaries have been made."""
        return len(self._made)

    def arm_time(self, record: BenchmarkRecord, arm: str, judging: Judging) -> Summary | None:
        """Return ``summaries.arm_time``: the time of one launch, ln(ms)."""
        return self._summary(arm_cells(record, arm), record, judging)

    def time_ratio(
        self, record: BenchmarkRecord, arm: str, over: str, judging: Judging
    ) -> Summary | None:
        """Return ``summaries.time_ratio``: ln of how many times faster ``arm`` is."""
        return self._summary(ratio_cells(record, arm, over), record, judging)

    def noise_floor(self, record: BenchmarkRecord, control: str, judging: Judging) -> float | None:
        """Return ``summaries.noise_floor``: a fraction, None without a usable pair."""
        return floor_of(self.time_ratio(record, control, CONTROL, judging))

    def _summary(
        self, cells: Cells | None, record: BenchmarkRecord, judging: Judging
    ) -> Summary | None:
        if cells is None:
            return None
        discarded = discarded_blocks(record)
        key = (
            cells.samples.shape,
            cells.samples.tobytes(),
            np.concatenate([cells.blocks, cells.counts.ravel()]).tobytes(),
            cells.signs,
            discarded,
            judging,
        )
        if key not in self._made:
            samples = int(cells.counts.sum())
            self._made[key] = summarise_cells(cells, samples, discarded, judging)
        return self._made[key]
