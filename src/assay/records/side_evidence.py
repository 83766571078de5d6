"""Evidence beside the figures: profiles, second stopwatches, sanitizers, cheats."""

from typing import Literal

from pydantic import Field

from assay.records.base import GpuRecord, Identifier, Measurable, Moment, Record, Sha256, Unread

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
    events_clock_mhz: Unread = None
    nvbench_clock_mhz: float | None = None


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


class CheatsRecord(GpuRecord):
    """Every cheat on one GPU."""

    schema_: Literal["assay/cheats/1"] = Field(alias="schema")
    target: Identifier
    recorded_at: Moment
    cheats: tuple[CheatOutcome, ...]
    status: Literal["collected", "failed"] = "collected"
    """``failed``: none was tried to its end, and ``detail`` says why."""
    detail: str = ""
