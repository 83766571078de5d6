"""Summaries of benchmark records, each made once. Pure.

Judging and rendering ask for the same arms and pairs of arms over and over. Whoever does both for
one run makes one ``SharedSummaries`` and hands it to both; nothing is kept beyond it.
"""

from collections.abc import Callable

from assay.records.measurements import BenchmarkRecord
from assay.records.workloads import Judging
from assay.statistics.summaries import CONTROL, Summary, arm_time, floor_of, time_ratio


class SharedSummaries:
    """The functions of ``statistics.summaries`` on records, computed once for each record."""

    def __init__(self) -> None:
        self._made: dict[object, tuple[BenchmarkRecord, Summary | None]] = {}

    def __len__(self) -> int:
        """Return how many questions have been answered."""
        return len(self._made)

    def arm_time(self, record: BenchmarkRecord, arm: str, judging: Judging) -> Summary | None:
        """Return ``summaries.arm_time``: the time of one launch, ln(ms)."""
        return self._once((arm,), record, judging, lambda: arm_time(record, arm, judging))

    def time_ratio(
        self, record: BenchmarkRecord, arm: str, over: str, judging: Judging
    ) -> Summary | None:
        """Return ``summaries.time_ratio``: ln of how many times faster ``arm`` is."""
        return self._once(
            (arm, over), record, judging, lambda: time_ratio(record, arm, over, judging)
        )

    def noise_floor(self, record: BenchmarkRecord, control: str, judging: Judging) -> float | None:
        """Return the noise floor of a record, a fraction; None without a usable pair."""
        return floor_of(self.time_ratio(record, control, CONTROL, judging))

    def _once(
        self,
        arms: tuple[str, ...],
        record: BenchmarkRecord,
        judging: Judging,
        make: Callable[[], Summary | None],
    ) -> Summary | None:
        key = id(record), arms, judging
        if key not in self._made:
            self._made[key] = record, make()  # the record is kept, so that its id stays its own
        return self._made[key][1]
