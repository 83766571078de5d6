"""The GPU of a machine that each unit of a target's plan is measured on, and its processors.

A unit is what a device job measures: a comparison, a program's list of arguments. Units whose
figures are divided by each other form a bundle, which shares a GPU: a ratio of two cards would tell
of the cards. The gate places a comparison, and what is measured of it afterwards goes to the same
GPU, for its binaries were checked there.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.catalog.model import Catalog
from assay.judging.cutlass_output import job_id
from assay.judging.needs import measured_together, needed_on
from assay.records.plan import Plan, TargetPlan
from assay.records.platform import Gpu
from assay.shared.job import ComparisonJob, DeviceJob, OriginalRunsJob, ProgramRunsJob

PROCESS_S = 1.2
"""Of each process: forking, CUDA's context, inputs."""
ARM_S = 0.1
"""Of each arm in a process: loading it, its first launch, its checks."""
TURN_FACTOR = 1.3
"""A turn and its pauses over the time that launches fill. The three are fitted to an H200."""
PROGRAM_S = 2.0
"""Of all starts of a program."""
PCI = Path("/sys/bus/pci/devices")
ADDRESS = 12
"""Characters of a PCI address as the kernel writes it; NVML's domain has four digits more."""


@dataclass(frozen=True)
class GpuPlaces:
    """The units of one target, and what they are expected to take."""

    catalog: Catalog
    plan: Plan
    target: TargetPlan

    @cached_property
    def bundles(self) -> dict[str, str]:
        """Return the bundle of every unit. Sources' own programs run on the first GPU, and with
        them whatever some claim divides: one program's figure is divided by another's.
        """
        claims = needed_on(self.catalog, self.plan.answers, self.target.target)
        ties = measured_together(self.catalog, claims)
        own = {job.original for job in self.target.originals}
        programs = (job.id for job in self.target.programs)
        names = [*self.target.comparisons, *programs, *sorted(own)]
        return bundled(names, [own.union(*ties)] if own else ties)

    def place(self, gpus: Sequence[str], fixed: Mapping[str, str]) -> dict[str, str]:
        """Return the GPU of each unit; ``fixed``: units that are on one already."""
        own = [job.original for job in self.target.originals]
        seconds = {name: guessed_seconds(self.catalog, name) for name in self.bundles}
        return place_units(self.bundles, seconds, gpus, {**dict.fromkeys(own, gpus[0]), **fixed})


def bundled(names: Iterable[str], ties: Iterable[Collection[str]]) -> dict[str, str]:
    """Return the bundle of each unit, by name: that of all units that ``ties`` lead to."""
    bundle = {name: name for name in names}
    for tie in ties:
        joined = {bundle[name] for name in tie if name in bundle}
        first = min(joined, default="")
        bundle = {name: first if of in joined else of for name, of in bundle.items()}
    return bundle


def place_units(
    bundles: Mapping[str, str],
    seconds: Mapping[str, float],
    gpus: Sequence[str],
    fixed: Mapping[str, str],
) -> dict[str, str]:
    """Return the GPU of each unit: the longest bundle first, each to the GPU that has least to do.

    ``bundles`` and ``seconds``: of each unit. ``fixed``: units that are on a GPU already; their
    bundles stay with them as far as that GPU is among ``gpus``.
    """
    load, lasts = dict.fromkeys(gpus, 0.0), dict.fromkeys(bundles.values(), 0.0)
    for name, bundle in bundles.items():
        lasts[bundle] += seconds[name]
    stay = {bundles[name]: gpu for name, gpu in fixed.items() if name in bundles and gpu in gpus}
    for bundle in sorted(lasts, key=lambda name: (name not in stay, -lasts[name], name)):
        gpu = stay.setdefault(bundle, min(gpus, key=lambda each: load[each]))
        load[gpu] += lasts[bundle]
    return {name: stay[bundle] for name, bundle in bundles.items()}


def guessed_seconds(catalog: Catalog, unit: str) -> float:
    """Return about what a unit takes: a GPU spends most of its time in turns of a set length."""
    if unit not in catalog.comparisons:
        return PROGRAM_S
    asked = catalog.comparisons[unit]
    protocol = catalog.protocols[asked.protocol]
    turn_s = ((protocol.turn_min_ms or 0.0) + (protocol.settle_ms or 0.0)) / 1e3
    arm_s = ARM_S + TURN_FACTOR * 2 * protocol.blocks * turn_s
    return protocol.looks[0] * (PROCESS_S + len(asked.arms) * arm_s)


def shared(jobs: Iterable[DeviceJob], places: Mapping[str, str]) -> dict[str, list[DeviceJob]]:
    """Return jobs by their GPU; those of units that have no place are left out."""
    found: dict[str, list[DeviceJob]] = {}
    for job in jobs:
        if (gpu := places.get(unit_of(job))) is not None:
            found.setdefault(gpu, []).append(job)
    return found


def unit_of(job: DeviceJob) -> str:
    """Return the unit that a job is of; nothing where it is of none, as a lone record is."""
    if isinstance(job, ComparisonJob):
        return job.comparison.id
    if isinstance(job, ProgramRunsJob):
        return job_id(job.program, job.arguments)
    return job.original if isinstance(job, OriginalRunsJob) else ""


def cores_of_gpus(gpus: Iterable[Gpu], devices: Path = PCI) -> dict[str, tuple[int, ...]]:
    """Return the processors that the jobs of each GPU keep to, by its UUID."""
    near = {gpu.uuid: _near(devices / gpu.pci_bus_id.lower()[-ADDRESS:]) for gpu in gpus}
    return share_cores(os.sched_getaffinity(0), near)


def _near(device: Path) -> set[int]:
    """Return the processors of a device's memory node; none where the kernel does not say."""
    near: set[int] = set()
    try:
        for part in (device / "local_cpulist").read_text(encoding="ascii").strip().split(","):
            first, _, last = part.partition("-")
            near |= set(range(int(first), int(last or first) + 1))
    except (OSError, ValueError):
        return set()
    return near


def share_cores(
    cores: Collection[int], near: Mapping[str, Collection[int]]
) -> dict[str, tuple[int, ...]]:
    """Return as many processors for each GPU, those next to it first; none is given twice.

    Where there are fewer processors than GPUs, all keep to all.
    """
    free, each = sorted(cores), len(cores) // len(near)
    if not each:
        return dict.fromkeys(near, tuple(free))
    shares = {}
    for gpu, wanted in near.items():
        free.sort(key=lambda core: (core not in wanted, core))
        shares[gpu], free = tuple(free[:each]), free[each:]
    return shares
