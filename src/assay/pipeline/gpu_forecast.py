"""The likely duration of the stages that measure unit by unit, before they begin.

What a stage took in another run says little of them: it hangs on which units are planned, and on
how many GPUs share them.
"""

import math
from collections.abc import Mapping
from pathlib import Path

from assay.catalog.model import Catalog
from assay.findings.step_timings import measured_here
from assay.pipeline.durations import Step
from assay.pipeline.gpu_places import COSTS, GpuPlaces, read_costs
from assay.pipeline.unit_seconds import expected_gate_seconds
from assay.records.gpu_costs import GpuCosts
from assay.records.plan import Plan, TargetPlan
from assay.records.timings import Stage

SOLE = "the GPU"
"""Of a target of which the request names none: whoever starts its jobs says which it is."""


def gpu_forecast(root: Path, catalog: Catalog, plan: Plan) -> dict[Step, float]:
    """Return what such stages will take of each target that this run measures.

    Nothing where ``root`` has no costs of units.
    """
    if not (root / COSTS).is_file():
        return {}
    costs = read_costs(root)
    here = measured_here(plan)
    return {
        (stage, frozenset({"target": target.target}.items())): seconds
        for target in plan.targets
        if target.target in here
        for stage, seconds in _of_target(root, catalog, plan, target, costs).items()
    }


def _of_target(
    root: Path, catalog: Catalog, plan: Plan, target: TargetPlan, costs: GpuCosts
) -> dict[Stage, float]:
    places = GpuPlaces(root, catalog, plan, target)
    gpus = target.provision.gpus or (SOLE,)
    placed = places.place(gpus, {})
    gates = expected_gate_seconds(catalog, costs.costs, target.target, target.comparisons)
    timed = {name: places.seconds[name] for name in target.comparisons}
    programs = {job.id: places.seconds[job.id] for job in target.programs}
    # A stage of comparisons begins with imports of the device side, one of programs with none.
    stages = (
        (Stage.CORRECTNESS, gates, costs.start_seconds),
        (Stage.BENCHMARK, timed, costs.start_seconds),
        (Stage.PROGRAM, programs, 0.0),
    )
    return {
        stage: start_s + _fullest(seconds, placed) for stage, seconds, start_s in stages if seconds
    }


def _fullest(seconds: Mapping[str, float], placed: Mapping[str, str]) -> float:
    """Return what the GPU takes that has most to do."""
    loads: dict[str, list[float]] = {}
    for name, each in seconds.items():
        loads.setdefault(placed[name], []).append(each)
    return max(map(math.fsum, loads.values()))
