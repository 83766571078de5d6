"""The GPU of a machine that each unit of a target's plan is measured on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.catalog.model import Catalog
from assay.judging.cutlass_output import job_id
from assay.judging.needs import measured_together, needed_on
from assay.measuring.gpu_schedule import GpuUnit, bundled, place_units
from assay.records.plan import Plan, TargetPlan
from assay.shared.job import ComparisonJob, DeviceJob, ProgramRunsJob

PROCESS_S = 1.2
"""Of each process: forking, CUDA's context, inputs."""
ARM_S = 0.1
"""Of each arm in a process: loading it, its first launch, its checks."""
TURN_FACTOR = 1.3
"""A turn with what lies between turns, over the time that its launches are to fill. The three are
fitted to what comparisons took on an H200."""
PROGRAM_S = 2.0
"""Of all starts of a program."""
OWN_PROGRAMS = ""
"""The bundle of sources' own programs, and of what shares a GPU with them: no unit's name."""


@dataclass(frozen=True)
class GpuPlaces:
    """The units of one target, and what they are expected to take."""

    catalog: Catalog
    plan: Plan
    target: TargetPlan

    def place(self, gpus: Sequence[str], fixed: Mapping[str, str]) -> dict[str, str]:
        """Return the GPU of each unit; ``fixed``: units that are on one already."""
        units = [
            GpuUnit(name, guessed_seconds(self.catalog, name), bundle)
            for name, bundle in self.bundles.items()
        ]
        return place_units(units, gpus, {**dict.fromkeys(self._pinned(), gpus[0]), **fixed})

    def bound_elsewhere(self, gpu: str, measured: Mapping[str, str]) -> dict[str, str]:
        """Return the units that are not to be measured on ``gpu``, each with the GPU that is to.

        ``measured``: where units were measured. They stay there, and so do those whose figures a
        claim divides by theirs.
        """
        bundles = dict(self.bundles)
        own = [job.original for job in self.target.originals]
        bundles |= dict.fromkeys([*self._pinned(), *own], OWN_PROGRAMS)
        elsewhere = {
            bundles[name]: other
            for name, other in measured.items()
            if other != gpu and name in bundles
        }
        return {name: elsewhere[tie] for name, tie in bundles.items() if tie in elsewhere}

    @cached_property
    def bundles(self) -> dict[str, str]:
        """Return the bundle of every unit: those whose figures some claim divides share one."""
        claims = needed_on(self.catalog, self.plan.answers, self.target.target)
        units = [*self.target.comparisons, *(job.id for job in self.target.programs)]
        return bundled(units, measured_together(self.catalog, claims))

    def _pinned(self) -> list[str]:
        """Return units that share the first GPU with sources' own programs, which run there: one
        program's figure is divided by another's.
        """
        if not self.target.originals:
            return []
        claims = needed_on(self.catalog, self.plan.answers, self.target.target)
        return [name for tie in measured_together(self.catalog, claims) for name in tie]


def guessed_seconds(catalog: Catalog, unit: str) -> float:
    """Return about what a unit takes: a GPU spends most of its time in turns of a set length."""
    if unit not in catalog.comparisons:
        return PROGRAM_S
    asked = catalog.comparisons[unit]
    protocol = catalog.protocols[asked.protocol]
    turn_s = ((protocol.turn_min_ms or 0.0) + (protocol.settle_ms or 0.0)) / 1e3
    arm_s = ARM_S + TURN_FACTOR * 2 * protocol.blocks * turn_s
    return protocol.processes * (PROCESS_S + len(asked.arms) * arm_s)


def shared(jobs: Iterable[DeviceJob], places: Mapping[str, str]) -> dict[str, list[DeviceJob]]:
    """Return jobs by their GPU; those of units that have no place are left out."""
    found: dict[str, list[DeviceJob]] = {}
    for job in jobs:
        if (gpu := places.get(unit_of(job))) is not None:
            found.setdefault(gpu, []).append(job)
    return found


def unit_of(job: DeviceJob) -> str:
    """Return the unit that a job is of. Raises ValueError for a job of none."""
    if isinstance(job, ComparisonJob):
        return job.comparison.id
    if isinstance(job, ProgramRunsJob):
        return job_id(job.program, job.arguments)
    raise ValueError(f"a job '{job.task}' is of no unit")
