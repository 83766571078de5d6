"""What the steps took that a published report is of: an estimate of what they will take again."""

from collections.abc import Callable
from pathlib import Path

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import parse_record, read_bytes
from assay.evidence.stages import origin_folder, plan_path, timings_path
from assay.findings.step_timings import ON_GPU, holds_gpu, measured_here
from assay.records.plan import Plan
from assay.records.timings import StepTiming, TimingsRecord
from assay.verification.report_archive import is_archive, read_archive


def recorded_seconds(report: Path) -> tuple[StepTiming, ...]:
    """Return the timings of a report, a directory or an archive; nothing of one that has none.

    Of figures that it took over they are those of the run that measured them: taking over takes no
    time worth telling. Nobody has verified them, and nothing but an estimate follows.
    """
    try:
        read = _reader(report)
        plan = parse_record(Plan, read(plan_path()), report)
        steps = parse_record(TimingsRecord, read(timings_path()), report).steps
    except (BadInput, CheckFailed):
        return ()
    here = measured_here(plan)
    found = [step for step in steps if step.stage not in ON_GPU or holds_gpu(step, here)]
    for target in plan.targets:
        if target.target not in here:
            found += _of_origin(report, read, target.target)
    return tuple(found)


def _of_origin(report: Path, read: Callable[[str], bytes], target: str) -> list[StepTiming]:
    """Return how long measuring a target took, whose records came from an earlier report."""
    try:
        came = read(f"{origin_folder(target)}/{timings_path()}")
        steps = parse_record(TimingsRecord, came, report).steps
    except BadInput:
        return []  # of a report from before timings came along
    return [step for step in steps if holds_gpu(step, frozenset({target}))]


def _reader(report: Path) -> Callable[[str], bytes]:
    """Return what reads a file of a report's evidence. Raises BadInput or CheckFailed."""
    if not is_archive(report):
        return lambda path: read_bytes(report / "evidence" / path)
    files = read_archive(report)
    return lambda path: files.get(f"evidence/{path}", b"")
