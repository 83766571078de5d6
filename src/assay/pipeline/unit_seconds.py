"""The seconds that units of work are expected to take on a GPU, before they run. Pure.

What a unit took before is the best word on it; of a comparison that never ran its protocol says
most of it, for a GPU spends most of its time in turns of a set length.
"""

from collections.abc import Iterable
from statistics import median

from assay.catalog.model import Catalog
from assay.records.gpu_costs import GpuCost
from assay.records.workloads import Protocol

PROCESS_S = 1.2
"""Of each process: forking, CUDA's context, inputs."""
ARM_S = 0.1
"""Of each arm in a process: loading it, its first launch, its checks."""
TURN_FACTOR = 1.3
"""A turn with what lies between turns, over the time that its launches are to fill. The three are
fitted to what comparisons took on an H200; where launches are longer than a turn, it takes more."""
GATE_ARM_S = 0.8
"""Of each arm that is checked, several side by side."""
PROGRAM_S = 2.0
"""Of all starts of a program, where none ever ran."""


def expected_seconds(
    catalog: Catalog, costs: Iterable[GpuCost], target: str, units: Iterable[str]
) -> dict[str, float]:
    """Return what each unit took on a target, else on another, else what is guessed of it."""
    known = {unit: cost.seconds for unit, cost in _of_target(costs, target).items()}
    programs = [seconds for unit, seconds in known.items() if unit not in catalog.comparisons]
    program_s = median(programs) if programs else PROGRAM_S
    return {
        unit: known[unit]
        if unit in known
        else guessed_seconds(catalog, unit)
        if unit in catalog.comparisons
        else program_s
        for unit in units
    }


def expected_gate_seconds(
    catalog: Catalog, costs: Iterable[GpuCost], target: str, comparisons: Iterable[str]
) -> dict[str, float]:
    """Return the same of the gates of comparisons."""
    known = _of_target(costs, target)
    return {
        name: known[name].gate_seconds
        if name in known
        else GATE_ARM_S * len(catalog.comparisons[name].arms)
        for name in comparisons
    }


def _of_target(costs: Iterable[GpuCost], target: str) -> dict[str, GpuCost]:
    """Return the cost of each unit on a target, else on another."""
    return {cost.unit: cost for cost in sorted(costs, key=lambda each: each.target == target)}


def guessed_seconds(catalog: Catalog, comparison: str) -> float:
    """Return what a comparison that never ran will about take, once its process has imports."""
    asked = catalog.comparisons[comparison]
    protocol = catalog.protocols[asked.protocol]
    arms = len(asked.arms)
    a_process = PROCESS_S + arms * (ARM_S + TURN_FACTOR * _turns_s(protocol))
    return protocol.processes * a_process


def _turns_s(protocol: Protocol) -> float:
    """Return what the turns of one arm last in a process, two of them a block."""
    turn_ms = (protocol.turn_min_ms or 0.0) + (protocol.settle_ms or 0.0)
    return 2 * protocol.blocks * turn_ms / 1e3
