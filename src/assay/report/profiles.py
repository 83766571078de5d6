"""The report's table of Nsight Compute: what kept a kernel busy, and what its warps waited for."""

from collections.abc import Iterator

from assay.evidence.model import Evidence
from assay.evidence.nsight_csv import CLOCK, DURATION, HZ, MS, ProfiledKernel, longest_kernel
from assay.evidence.stages import profile_path
from assay.records.profile import ProfileRecord
from assay.report import formatting as fmt
from assay.report.formatting import Row, link

COLUMNS = (
    (DURATION, "duration"),
    (CLOCK, "clock"),
    ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "tensor pipe"),
    ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "of active"),
    ("lts__throughput.avg.pct_of_peak_sustained_elapsed", "L2"),
    ("lts__t_sector_hit_rate.pct", "L2 hit rate"),
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM"),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", "occupancy"),
    ("launch__registers_per_thread", "registers"),
)
COUNTED = ("", "register/thread")
"""Units of what is counted, and told as it is."""
STALL = ("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio")
ISSUING = "selected"
"""What Nsight Compute counts beside stalls: the warp that issues."""
BETWEEN_INSTRUCTIONS = "smsp__average_warp_latency_per_inst_issued.ratio"
"""Cycles between two instructions of a warp."""
STALLS_SHOWN = 3


def profile_rows(evidence: Evidence) -> Iterator[Row]:
    """Yield every profile of the plan; its cells stand under ``COLUMNS``."""
    for (target, comparison, arm), record in evidence.profiles.items():
        kernel = _kernel(record)
        yield {
            "target": target,
            "comparison": comparison,
            "arm": arm,
            "status": fmt.words(record.status),
            "collected": record.status == "collected",
            "detail": record.kernel or record.detail,
            "cells": [_metric(kernel, name) for name, _ in COLUMNS],
            "stalls": list(_stalls(kernel)),
            "link": link(f"evidence/{profile_path(target, comparison, arm)}"),
        }


def _kernel(record: ProfileRecord) -> ProfiledKernel:
    """Return all of the kernel's raw page: of that a record lifts out what its own version knew
    of.
    """
    try:
        return longest_kernel(record.raw_page or "")
    except ValueError:
        return ProfiledKernel(record.kernel or "", record.metrics, record.units)


def _metric(kernel: ProfiledKernel, name: str) -> str:
    if name not in kernel.values:
        return fmt.NOTHING
    value, unit = kernel.values[name], kernel.units.get(name, "")
    if unit in HZ:
        value, unit = value / 1e6, "MHz"
    elif unit in MS:
        value, unit = value * MS[unit], "ms"
    if unit in COUNTED:
        return fmt.short(value)
    return f"{fmt.number(value)}\N{NO-BREAK SPACE}{unit}"


def _stalls(kernel: ProfiledKernel) -> Iterator[str]:
    """Yield where warps spend the time between two instructions, the largest shares."""
    whole = kernel.values.get(BETWEEN_INSTRUCTIONS, 0.0)
    if whole <= 0:
        return
    before, behind = STALL
    shares = [
        (value / whole, name.removeprefix(before).removesuffix(behind))
        for name, value in kernel.values.items()
        if name.startswith(before) and name.endswith(behind)
    ]
    waits = [each for each in sorted(shares, reverse=True) if each[1] != ISSUING]
    for share, why in waits[:STALLS_SHOWN]:
        yield f"{fmt.words(why)} {100 * share:.0f}\N{NO-BREAK SPACE}%"
