"""Evidence beside the figures: profiles, second stopwatches, sanitizers, cheats."""

from typing import Literal

from pydantic import Field, model_validator

from assay.records.base import GpuRecord, Identifier, Measurable, Moment, Record, Sha256

MetricStatus = Literal["collected", "permission_denied", "unsupported", "not_installed", "failed"]


class ProfileRecord(GpuRecord):
    """Nsight Compute's metrics of one arm; never a judged timing."""

    schema_: Literal["assay/profile/1"] = Field(alias="schema")
    comparison: Identifier
    arm: Identifier
    target: Identifier
    status: MetricStatus
    detail: str
    kernel: str | None
    """Name of the profiled kernel (the longest of the launch)."""
    metrics: dict[str, float]
    """Nsight Compute metric name to value, in the units of ``units``."""
    units: dict[str, str]
    raw_page: str | None
    """The whole raw page as CSV."""


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


Tool = Literal["memcheck", "racecheck", "synccheck"]


class SanitizerControl(Record):
    """A kernel that does wrong on purpose: a tool that does not catch it would catch nothing."""

    tool: Tool
    caught: bool
    detail: str
    """The tool's first words, or why there are none."""


class Sanitized(Record):
    """One compiled variant under one tool."""

    variant: Identifier
    tool: Tool
    status: Literal["clean", "warnings", "errors", "unsupported", "failed"]
    """``unsupported``: it refused every shape; ``failed``: it crashed, or the tool said nothing."""
    shapes: tuple[str, ...]
    """Shapes that it was launched at and that came to their end."""
    errors: int = Field(ge=0)
    warnings: int = Field(ge=0)
    messages: tuple[str, ...]
    """The first lines of what the tool printed; the counts are of all findings."""
    detail: str
    binary_sha256: Sha256 | None

    @model_validator(mode="after")
    def _status_fits_counts(self) -> "Sanitized":
        found = "errors" if self.errors else "warnings" if self.warnings else None
        if (self.status if self.status in ("errors", "warnings") else None) != found:
            raise ValueError(f"{self.variant} under {self.tool}: its counts are not {self.status}")
        if self.status == "clean" and not self.shapes:
            raise ValueError(f"{self.variant} under {self.tool} is clean but was never launched")
        return self


class SanitizerRecord(GpuRecord):
    """Every tool over every compiled variant of a target."""

    schema_: Literal["assay/sanitizer/1"] = Field(alias="schema")
    target: Identifier
    recorded_at: Moment
    status: Literal["collected", "not_installed", "failed"]
    detail: str
    version: str | None
    controls: tuple[SanitizerControl, ...]
    runs: tuple[Sanitized, ...]
    seconds: Measurable

    @model_validator(mode="after")
    def _tools_were_shown_their_controls(self) -> "SanitizerRecord":
        if unproved := {run.tool for run in self.runs} - {one.tool for one in self.controls}:
            raise ValueError(f"no control for {', '.join(sorted(unproved))}")
        if self.status != "collected" and self.runs:
            raise ValueError(f"the record is {self.status} but holds findings")
        return self


class CheatOutcome(Record):
    """A kernel that cheats, and what caught it."""

    name: Identifier
    what: str
    meant: str | None
    """The check that must catch it, ``timed_run``, or None for the honest kernel."""
    caught_by: tuple[str, ...]
    as_meant: bool
    """Whether ``meant`` is among ``caught_by``; of the honest kernel, whether nothing is."""
    timed_run: str
    """What the timed launches came to, in words."""
    ended: bool | None = None
    """Whether its process came to a result; None in evidence from before this was recorded."""

    @model_validator(mode="after")
    def _meant_is_what_caught_it(self) -> "CheatOutcome":
        caught = self.meant in self.caught_by if self.meant else not self.caught_by
        if self.as_meant and not caught:
            raise ValueError(f"{self.name} is as meant, but what caught it says otherwise")
        return self


class CheatsRecord(GpuRecord):
    """Every cheat on one GPU."""

    schema_: Literal["assay/cheats/1"] = Field(alias="schema")
    target: Identifier
    recorded_at: Moment
    cheats: tuple[CheatOutcome, ...]
    status: Literal["collected", "failed"] = "collected"
    """``failed``: none was tried to its end, and ``detail`` says why."""
    detail: str = ""

    @model_validator(mode="after")
    def _collected_beside_an_honest_one(self) -> "CheatsRecord":
        if self.status == "failed":
            if self.cheats:
                raise ValueError("the record is failed but holds cheats")
        elif not {True, False} <= {cheat.meant is None for cheat in self.cheats}:
            raise ValueError("collected, but without cheats or without the honest kernel")
        return self
