"""The second stopwatch's record of one comparison."""

from typing import Literal

from pydantic import Field, model_validator

from assay.records.base import GpuRecord, Identifier, Moment, Record, Sha256


class StopwatchArm(Record):
    """Two stopwatches on one arm in one process; Nsight's duration is in its ProfileRecord."""

    arm: Identifier
    variant: Identifier
    workload: Identifier
    binary_sha256: Sha256 | None
    status: Literal["collected", "not_installed", "unsupported", "failed"]
    detail: str
    events_median_ms: float | None
    """Median of this project's cold event times, contents unchanged between launches."""
    nvbench_cold_ms: float | None
    nvbench_statistic: Literal["median", "mean"] | None
    """What NVBench gave: older versions report the mean only."""
    nvbench_samples: int | None
    events_clock_mhz: float | None = None
    """Mean SM clock during our samples: where two stopwatches differ, it may be why."""
    nvbench_clock_mhz: float | None = None

    @model_validator(mode="after")
    def _times_where_collected(self) -> "StopwatchArm":
        times = (self.events_median_ms, self.nvbench_cold_ms, self.nvbench_statistic)
        if (self.status == "collected") != (None not in times):
            raise ValueError(f"arm {self.arm} is {self.status} but its times say otherwise")
        return self


class StopwatchRecord(GpuRecord):
    """The second stopwatch, for an agreement table; never a judged timing."""

    schema_: Literal["assay/stopwatch/1"] = Field(alias="schema")
    comparison: Identifier
    target: Identifier
    recorded_at: Moment
    nvbench: str | None
    """Version of cuda-bench; None where it is not installed."""
    arms: tuple[StopwatchArm, ...]
