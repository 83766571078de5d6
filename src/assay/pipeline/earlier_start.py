"""What an earlier start of a run measured on a GPU that is not here any more.

A lent GPU goes back, and a results folder travels: a run whose figures are all measured is judged,
rendered and signed wherever it is started next. What stands beside the figures and is missing then
(profiles, second stopwatches) ends in records that say why.
"""

from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.evidence.stages import BENCHMARKS, PLATFORMS, PROGRAMS, plan_path
from assay.records.plan import Plan, Provision


def measured_before(run_dir: Path, target: str) -> Provision | None:
    """Return the GPU on which earlier starts measured all figures of a target; None elsewhere."""
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
    folders = [BENCHMARKS.output(target)] if found.comparisons else []
    folders += [PROGRAMS.output(target)] if found.programs else []
    if not all((run_dir / folder).is_dir() for folder in folders):
        return None
    gpu = platform.device.gpu
    detail = f"measured by an earlier start of this run on {gpu.product} ({gpu.uuid})"
    return found.provision.model_copy(update={"detail": detail})
