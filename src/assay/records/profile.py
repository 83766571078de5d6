"""Nsight Compute's record of one arm."""

from typing import Literal

from pydantic import Field

from assay.records.base import GpuRecord, Identifier

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
