"""Which unit of work runs on which GPU of a machine, in what order, and how long that takes. Pure.

A unit is what a device job measures: a comparison, a program's list of arguments. Units whose
figures are divided by each other form a bundle, which shares a GPU: a ratio of two cards would tell
of the cards. Bundles are given out so that all GPUs are done at about one time; a GPU does its
units one at a time, longest first. The gate places a comparison, and what is measured of it
afterwards goes to the same GPU, for its binaries were checked there.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

HALVINGS = 20
"""Of the time that is left to be gained: to a millionth of it."""


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
    """Return the GPU of each unit.

    ``fixed``: units that are on a GPU already, by name; their bundles stay with them as far as
    that GPU is among ``gpus``. The same arguments give the same answer. Raises ValueError without a
    GPU.
    """
    if not gpus:
        raise ValueError("there is no GPU to place units on")
    bundles: dict[str, list[GpuUnit]] = {}
    for unit in units:
        bundles.setdefault(unit.bundle, []).append(unit)
    load = dict.fromkeys(gpus, 0.0)
    placed: dict[str, str] = {}
    waiting: list[list[GpuUnit]] = []
    for bundle in bundles.values():
        stays = next((fixed[u.name] for u in bundle if fixed.get(u.name) in load), None)
        if stays is None:
            waiting.append(bundle)
        else:
            placed |= {unit.name: stays for unit in bundle}
            load[stays] += _seconds(bundle)
    waiting.sort(key=lambda bundle: (-_seconds(bundle), bundle[0].bundle))
    for bundle, gpu in zip(waiting, _packed([_seconds(b) for b in waiting], load), strict=True):
        placed |= {unit.name: gpu for unit in bundle}
    return placed


def _seconds(bundle: Iterable[GpuUnit]) -> float:
    return math.fsum(unit.seconds for unit in bundle)


def _packed(sizes: Sequence[float], load: Mapping[str, float]) -> list[str]:
    """Return a bin for each size, from large to small, so that the fullest holds little.

    Each to the emptiest; then, where that can be done, each to the first in which it fits below a
    lower and lower bound (MULTIFIT of Coffman, Garey and Johnson, 1978).
    """
    best, bound = _to_emptiest(sizes, load)
    least = max([*load.values(), (math.fsum(load.values()) + math.fsum(sizes)) / len(load)])
    for _ in range(HALVINGS):
        middle = (least + bound) / 2
        tried = _to_first(sizes, load, middle)
        if tried is None:
            least = middle
        else:
            best, bound = tried, middle
    return best


def _to_emptiest(sizes: Sequence[float], load: Mapping[str, float]) -> tuple[list[str], float]:
    """Return the bins, and what the fullest holds."""
    held, chosen = dict(load), []
    for size in sizes:
        chosen.append(min(held, key=lambda name: held[name]))
        held[chosen[-1]] += size
    return chosen, max(held.values())


def _to_first(sizes: Sequence[float], load: Mapping[str, float], bound: float) -> list[str] | None:
    """Return the bins, of which none holds more than ``bound``; None where one would."""
    held, chosen = dict(load), []
    for size in sizes:
        name = next((each for each in held if held[each] + size <= bound), None)
        if name is None:
            return None
        chosen.append(name)
        held[name] += size
    return chosen


def in_order(names: Collection[str], seconds: Mapping[str, float]) -> list[str]:
    """Return units of one GPU in the order in which it does them: longest first."""
    return sorted(names, key=lambda name: (-seconds.get(name, 0.0), name))


def bundled(names: Iterable[str], ties: Iterable[Collection[str]]) -> dict[str, str]:
    """Return the bundle of each unit, by name: that of all units that ``ties`` lead to."""
    parent = {name: name for name in names}

    def root(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    for tie in ties:
        first, *others = [root(name) for name in tie if name in parent] or [""]
        for other in others:
            one, two = sorted((root(first), root(other)))
            parent[two] = one
    return {name: root(name) for name in parent}


@dataclass(frozen=True)
class Simulated:
    """A stage, as it would run on some GPUs."""

    gpus: int
    seconds: float
    """Until the last GPU is done."""
    busy: tuple[float, ...]
    """Share of it in which each GPU had a unit to itself."""
    longest: float
    """Seconds of the longest bundle, with the start: no number of GPUs is faster."""


def simulate(
    expected: Sequence[GpuUnit], taken: Mapping[str, float], gpus: int, start_s: float
) -> Simulated:
    """Return a stage that was placed by expected durations and takes recorded ones.

    ``taken``: what each unit takes, by name. ``start_s``: what a GPU's process needs before its
    first unit: Python, imports; every GPU's at the same time.
    """
    names = [f"GPU {number}" for number in range(gpus)]
    placed = place_units(expected, names, {})
    work = {
        name: math.fsum(taken[unit] for unit, gpu in placed.items() if gpu == name)
        for name in names
    }
    end = max(start_s + each if each else 0.0 for each in work.values())
    bundles: dict[str, float] = {}
    for unit in expected:
        bundles[unit.bundle] = bundles.get(unit.bundle, 0.0) + taken[unit.name]
    return Simulated(
        gpus=gpus,
        seconds=end,
        busy=tuple(each / end if end else 0.0 for each in work.values()),
        longest=start_s + max(bundles.values(), default=0.0),
    )


def share_cores(
    cores: Collection[int], near: Mapping[str, Collection[int]]
) -> dict[str, tuple[int, ...]]:
    """Return the processors that each GPU's jobs keep to, by UUID; none shares one with another.

    ``near``: those that lie next to each GPU; empty where nobody says. GPUs that lie next to the
    same ones divide them evenly, and one that would be left with none has all that are left over;
    where there are fewer processors than GPUs, all keep to all.
    """
    if len(cores) < len(near):
        return dict.fromkeys(near, tuple(sorted(cores)))
    groups: dict[tuple[int, ...], list[str]] = {}
    for gpu, wanted in near.items():
        mine = tuple(sorted(set(wanted) & set(cores))) or tuple(sorted(cores))
        groups.setdefault(mine, []).append(gpu)
    overlapping = sum(len(group) for group in groups) != len({c for g in groups for c in g})
    if overlapping or any(len(group) < len(gpus) for group, gpus in groups.items()):
        groups = {tuple(sorted(cores)): list(near)}
    return {
        gpu: group[number * len(group) // len(gpus) : (number + 1) * len(group) // len(gpus)]
        for group, gpus in groups.items()
        for number, gpu in enumerate(gpus)
    }
