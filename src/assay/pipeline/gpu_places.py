"""The GPU of a machine that each unit of a target's plan is measured on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.base.io import read_record
from assay.catalog.model import Catalog
from assay.judging.cutlass_output import job_id
from assay.judging.needs import measured_together, needed_on
from assay.measuring.gpu_schedule import GpuUnit, bundled, in_order, place_units
from assay.pipeline.unit_seconds import expected_seconds
from assay.records.gpu_costs import GpuCosts
from assay.records.plan import Plan, TargetPlan
from assay.shared.job import ComparisonJob, DeviceJob, ProgramRunsJob

COSTS = "config/gpu_costs.json"
OWN_PROGRAMS = ""
"""The bundle of sources' own programs, and of what shares a GPU with them: no unit's name."""


@dataclass(frozen=True)
class GpuPlaces:
    """The units of one target, and what they are expected to take."""

    root: Path
    """The repository, which knows what units took."""
    catalog: Catalog
    plan: Plan
    target: TargetPlan

    def place(self, gpus: Sequence[str], fixed: Mapping[str, str]) -> dict[str, str]:
        """Return the GPU of each unit; ``fixed``: units that are on one already.

        The benchmark is the longest stage, so comparisons are placed by what it takes of them, and
        programs, which run in a stage of their own, behind them.
        """
        pinned = {**dict.fromkeys(self._pinned(), gpus[0]), **fixed}
        programs = {job.id for job in self.target.programs}
        first = [unit for unit in self.units if unit.name not in programs]
        placed = place_units(first, gpus, pinned)
        by_bundle = {unit.bundle: placed[unit.name] for unit in first}
        rest = [unit for unit in self.units if unit.name in programs]
        beside = {u.name: by_bundle[u.bundle] for u in rest if u.bundle in by_bundle}
        return placed | place_units(rest, gpus, {**pinned, **beside})

    def share(
        self, jobs: Iterable[DeviceJob], places: Mapping[str, str]
    ) -> dict[str, list[DeviceJob]]:
        """Return jobs by their GPU, in the order in which it does them; on a single one, in theirs.

        Jobs of units that have no place are left out.
        """
        by_unit: dict[str, list[DeviceJob]] = {}
        for job in jobs:
            by_unit.setdefault(unit_of(job), []).append(job)
        shared: dict[str, list[DeviceJob]] = {}
        several = len({places[name] for name in by_unit if name in places}) > 1
        for name in in_order(by_unit, self.seconds) if several else by_unit:
            if name in places:
                shared.setdefault(places[name], []).extend(by_unit[name])
        return shared

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
    def units(self) -> list[GpuUnit]:
        """Return every unit of the target's plan, with its bundle."""
        return [GpuUnit(name, self.seconds[name], self.bundles[name]) for name in self._names]

    @cached_property
    def bundles(self) -> dict[str, str]:
        """Return the bundle of every unit: those whose figures some claim divides share one."""
        claims = needed_on(self.catalog, self.plan.answers, self.target.target)
        return bundled(self._names, measured_together(self.catalog, claims))

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Return what each unit is expected to take."""
        costs = read_costs(self.root).costs
        return expected_seconds(self.catalog, costs, self.target.target, self._names)

    @property
    def _names(self) -> list[str]:
        return [*self.target.comparisons, *(job.id for job in self.target.programs)]

    def _pinned(self) -> list[str]:
        """Return units that share the first GPU with sources' own programs, which run there: one
        program's figure is divided by another's.
        """
        if not self.target.originals:
            return []
        claims = needed_on(self.catalog, self.plan.answers, self.target.target)
        return [name for tie in measured_together(self.catalog, claims) for name in tie]


def read_costs(root: Path) -> GpuCosts:
    """Return what units took the last time. Raises BadInput."""
    return read_record(GpuCosts, root / COSTS)


def unit_of(job: DeviceJob) -> str:
    """Return the unit that a job is of. Raises ValueError for a job of none."""
    if isinstance(job, ComparisonJob):
        return job.comparison.id
    if isinstance(job, ProgramRunsJob):
        return job_id(job.program, job.arguments)
    raise ValueError(f"a job '{job.task}' is of no unit")
