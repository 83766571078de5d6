"""What an earlier start of a run measured on a GPU that is not here any more.

A lent GPU goes back, and a results folder travels: a run whose figures are all measured is judged,
rendered and signed wherever it is started next; so are those claims of it whose figures are, where
it is asked for these alone. What stands beside the figures and is missing then (profiles, second
stopwatches) ends in records that say why.
"""

from pathlib import Path
from typing import Any

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.evidence.entries import TargetStage
from assay.evidence.stages import BENCHMARKS, PLATFORMS, PROGRAMS, plan_path
from assay.measuring.resume import kept_folder
from assay.records.plan import Plan, Provision


def measured_before(run_dir: Path, target: str) -> Provision | None:
    """Return the GPU on which earlier starts measured figures of a target; None elsewhere."""
    if not (run_dir / plan_path()).is_file():
        return None
    try:
        plan = read_record(Plan, run_dir / plan_path())
        platform = read_record(PLATFORMS.record, run_dir / PLATFORMS.path(target))
    except BadInput:
        return None
    found = next((each for each in plan.targets if each.target == target), None)
    if found is None or found.provision.kind != "device":
        return None
    benchmarked = not found.comparisons or _has_figures(run_dir, BENCHMARKS, target)
    if not (benchmarked and (not found.programs or _has_figures(run_dir, PROGRAMS, target))):
        return None
    gpu = platform.device.gpu
    detail = f"measured by an earlier start of this run on {gpu.product} ({gpu.uuid})"
    return found.provision.model_copy(update={"detail": detail})


def _has_figures(run_dir: Path, stage: TargetStage[Any, Any], target: str) -> bool:
    kept = kept_folder(run_dir, stage.stage, target).glob("*.json.gz")
    return (run_dir / stage.output(target)).is_dir() or any(kept)
