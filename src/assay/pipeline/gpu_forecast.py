"""The likely duration of the stages that several GPUs of a machine share, before they begin.

What a stage took on another machine says little of them: it hangs on how many GPUs there are, and
on what is planned.
"""

from pathlib import Path

from assay.base.errors import CheckFailed
from assay.catalog.model import Catalog
from assay.pipeline.card_choice import ComparisonTime, card_candidates, choose_cards
from assay.pipeline.durations import Step
from assay.pipeline.gpu_places import GpuPlaces, read_costs
from assay.pipeline.unit_seconds import expected_gate_seconds, expected_seconds
from assay.records.gpu_costs import GpuCosts
from assay.records.plan import Plan, TargetPlan
from assay.records.timings import Stage


def gpu_forecast(root: Path, catalog: Catalog, plan: Plan) -> dict[Step, float]:
    """Return what such stages will take, of each target that several GPUs measure."""
    several = [target for target in plan.targets if len(target.provision.gpus) > 1]
    costs = read_costs(root) if several else None
    return {
        (stage, frozenset({"target": target.target}.items())): seconds
        for target in several
        if costs is not None
        for stage, seconds in _of_target(root, catalog, plan, target, costs).items()
    }


def _of_target(
    root: Path, catalog: Catalog, plan: Plan, target: TargetPlan, costs: GpuCosts
) -> dict[Stage, float]:
    places = GpuPlaces(root, catalog, plan, target)
    loads = dict.fromkeys(target.provision.gpus, costs.start_seconds)
    placed = places.place(target.provision.gpus, {})
    for name in target.comparisons:
        loads[placed[name]] += places.seconds[name]
    found = {Stage.BENCHMARK: max(loads.values())}
    if target.cards:
        found[Stage.CARDS] = _cards(catalog, target, costs)
    return found


def _cards(catalog: Catalog, target: TargetPlan, costs: GpuCosts) -> float:
    """Return what holding the GPUs against each other will take; nothing where no time is for it.

    Which comparison is the control is known when the benchmarks are done, and about then how long.
    """
    names = card_candidates(catalog, target.comparisons)
    gates = expected_gate_seconds(catalog, costs.costs, target.target, names)
    seconds = expected_seconds(catalog, costs.costs, target.target, names)
    times = {}
    for name in names:
        processes = catalog.protocols[catalog.comparisons[name].protocol].processes
        times[name] = ComparisonTime(gates[name], seconds[name] / processes, processes)
    try:
        return choose_cards(catalog, times, costs.start_seconds).seconds
    except CheckFailed:
        return 0.0
