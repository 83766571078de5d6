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
    repeated_runs,
    summarise_cells,
)

ContentKey = tuple[tuple[int, ...], bytes, bytes, tuple[float, ...], int, Judging]
"""Everything that a summary is computed from: shape, logs and counts of all samples, the sign of
each arm, discarded blocks, rules."""


_Question = tuple[int, tuple[str, ...], Judging]
"""Which object (it is kept, so that its number stays its own), which arms, which rules."""


class SharedSummaries:
    """The functions of ``statistics.summaries`` on records, computed once per distinct content.

    Keyed by what goes in and not by which object holds it: records that were read twice share
    their summaries, records that differ in one sample or rules that differ in one figure do not.
    A record at hand is not even sorted again to see that.
    """

    def __init__(self) -> None:
        self._made: dict[ContentKey, Summary] = {}
        self._runs: dict[tuple[tuple[float, ...], Judging], Summary | None] = {}
        self._asked: dict[_Question, tuple[BenchmarkRecord, Summary | None]] = {}

    def __len__(self) -> int:
        """Return how many different summaries have been made."""
        return len(self._made) + sum(made is not None for made in self._runs.values())

    def arm_time(self, record: BenchmarkRecord, arm: str, judging: Judging) -> Summary | None:
        """Return ``summaries.arm_time``: the time of one launch, ln(ms)."""
        return self._answer(record, (arm,), judging)

    def time_ratio(
        self, record: BenchmarkRecord, arm: str, over: str, judging: Judging
    ) -> Summary | None:
        """Return ``summaries.time_ratio``: ln of how many times faster ``arm`` is."""
        return self._answer(record, (arm, over), judging)

    def noise_floor(self, record: BenchmarkRecord, control: str, judging: Judging) -> float | None:
        """Return ``summaries.noise_floor``: a fraction, None without a usable pair."""
        return floor_of(self.time_ratio(record, control, CONTROL, judging))

    def repeated_runs(self, values: tuple[float, ...], judging: Judging) -> Summary | None:
        """Return ``summaries.repeated_runs``: ln of a figure that a program printed."""
        if (values, judging) not in self._runs:
            self._runs[values, judging] = repeated_runs(values, judging)
        return self._runs[values, judging]

    def _answer(
        self, record: BenchmarkRecord, arms: tuple[str, ...], judging: Judging
    ) -> Summary | None:
        question = (id(record), arms, judging)
        if question not in self._asked:
            cells = ratio_cells(record, *arms) if len(arms) > 1 else arm_cells(record, *arms)
            self._asked[question] = record, self._summary(cells, record, judging)
        return self._asked[question][1]

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
