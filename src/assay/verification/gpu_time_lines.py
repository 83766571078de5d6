"""Whether each GPU did one thing at a time, by what its records say of their time. Pure.

A record names its GPU and the time in which its unit of work had it. Units of one GPU do not
overlap, whatever stage they are of, and the times fit what else the record says of them.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from assay.evidence.model import Evidence
from assay.evidence.stages import PLATFORMS, TARGET_STAGES
from assay.records.base import GpuRecord
from assay.records.measurements import BenchmarkRecord
from assay.verification.contradictions import Findings

SECOND_S = 1.0
"""Records from before name whole seconds of two clocks."""
SLACK_S = 0.05
"""A machine's clock may be set while it measures, by as little as its service sets it."""

Span = tuple[float, float, str, float]
"""Beginning, end, whose it is, and how exactly both are known."""


def check_time_lines(evidence: Evidence, findings: Findings) -> None:
    """Add what cannot be so of the times in which units had GPUs to themselves."""
    by_gpu: dict[str, list[Span]] = {}
    for record, path in _units(evidence):
        span = _span(record, path, findings)
        if span is not None:
            by_gpu.setdefault(record.gpu_uuid, []).append(span)
    for spans in by_gpu.values():
        for (_, ended, first, rough), (began, _, second, roughly) in pairwise(sorted(spans)):
            if began + max(rough, roughly) < ended:
                says = f"{first} and {second} were measured on one GPU at one time"
                findings.refuse("windows", says)


def _units(evidence: Evidence) -> Iterator[tuple[GpuRecord, str]]:
    """Yield every record of a unit that had a GPU, with its path."""
    for plan in evidence.plan.targets:
        for stage in (each for each in TARGET_STAGES if each is not PLATFORMS):
            held = getattr(evidence, stage.collection)
            for key, path in stage.paths(plan).items():
                record = held.get(key)
                if isinstance(record, GpuRecord):
                    yield record, path


def _span(record: GpuRecord, path: str, findings: Findings) -> Span | None:
    """Return the time of a unit; None where the record does not tell it."""
    timed = record if isinstance(record, BenchmarkRecord) else None
    began = datetime.fromisoformat(timed.recorded_at).timestamp() if timed else 0.0
    if record.on_gpu is None:
        return (began, began + timed.seconds, path, SECOND_S) if timed else None
    start, end = record.on_gpu.ends
    took = getattr(record, "seconds", 0.0)
    if took > end - start + SLACK_S:
        findings.refuse("windows", f"{path} took longer than it had its GPU")
    if timed and not start - SECOND_S <= began <= end + SECOND_S:
        findings.refuse("windows", f"{path} was begun at another time than it had its GPU")
    return start, end, path, SLACK_S
