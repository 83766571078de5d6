"""Which unit of work runs on which GPU of a machine, and beside which processors.

A unit is what a device job measures: a comparison, a program's list of arguments. Units whose
figures are divided by each other form a bundle, which shares a GPU: a ratio of two cards would tell
of the cards. Bundles are given out so that all GPUs are done at about one time; a GPU does its
units one at a time. The gate places a comparison, and what is measured of it afterwards goes to the
same GPU, for its binaries were checked there.
"""

import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.records.platform import Gpu

PCI = Path("/sys/bus/pci/devices")
ADDRESS = 12
"""Characters of a PCI address as the kernel writes it; NVML's domain has four digits more."""


@dataclass(frozen=True)
class GpuUnit:
    """What runs on one GPU, in one go."""

    name: str
    seconds: float
    """What it is expected to take, all that is measured of it."""
    bundle: str
    """Units of one bundle share a GPU."""


def place_units(
    units: Iterable[GpuUnit], gpus: Sequence[str], fixed: Mapping[str, str]
) -> dict[str, str]:
    """Return the GPU of each unit: the longest bundle first, each to the GPU that has least to do.

    ``fixed``: units that are on a GPU already, by name; their bundles stay with them as far as
    that GPU is among ``gpus``. The same arguments give the same answer. Raises ValueError without a
    GPU.
    """
    if not gpus:
        raise ValueError("there is no GPU to place units on")
    bundles: dict[str, list[GpuUnit]] = {}
    for unit in units:
        bundles.setdefault(unit.bundle, []).append(unit)
    seconds = {name: math.fsum(unit.seconds for unit in each) for name, each in bundles.items()}
    stay = {
        bundle: fixed[unit.name]
        for bundle, each in bundles.items()
        for unit in reversed(each)
        if fixed.get(unit.name) in gpus
    }
    load = dict.fromkeys(gpus, 0.0)
    placed: dict[str, str] = {}
    for bundle in sorted(bundles, key=lambda name: (name not in stay, -seconds[name], name)):
        gpu = stay.get(bundle) or min(gpus, key=lambda each: load[each])
        load[gpu] += seconds[bundle]
        placed |= {unit.name: gpu for unit in bundles[bundle]}
    return placed


def bundled(names: Iterable[str], ties: Iterable[Collection[str]]) -> dict[str, str]:
    """Return the bundle of each unit, by name: that of all units that ``ties`` lead to."""
    bundle = {name: name for name in names}
    for tie in ties:
        joined = {bundle[name] for name in tie if name in bundle}
        first = min(joined, default="")
        bundle = {name: first if of in joined else of for name, of in bundle.items()}
    return bundle


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
