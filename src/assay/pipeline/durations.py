"""The likely duration of a run's steps: what they took before, and what starting them takes. Pure.

One model: the preview of a run, README's table of a first run, and the test that keeps a first run
without a GPU within five minutes all read it.
"""

import heapq
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.findings.step_timings import ON_GPU
from assay.records.timings import Stage

Step = tuple[Stage, frozenset[tuple[str, str]]]
"""A step by its rule and its wildcards."""
STEP_S = 2.2
"""Processor seconds of a step beside its work: two starts of Python and Snakemake's own work."""
START_S = 15.0
"""Seconds on the clock that a run takes beside its steps: the plan, Snakemake's start, the last
verification."""


@dataclass(frozen=True)
class Estimate:
    """The likely duration of steps, going by what the same steps took before."""

    seconds: float
    """On the clock, compilers side by side and everything else one after the other."""
    gpu_seconds: float
    """The part of it in which a GPU is held."""
    unknown: tuple[Step, ...]
    """Steps whose work nobody has timed: no more than their start is in the sum."""


def estimate(steps: Iterable[Step], known: Mapping[Step, float], cores: int) -> Estimate:
    """Add up what steps take, their starts included; ``known``: s of work by step.

    Nothing for no steps.
    """
    steps = frozenset(steps)
    builds = [known.get(step, 0.0) for step in steps if step[0] is Stage.BUILD]
    others = {step: known.get(step, 0.0) + STEP_S for step in steps if step[0] is not Stage.BUILD}
    gpu = math.fsum(known[step] for step in steps if step[0] in ON_GPU and step in known)
    unknown = sorted((s for s in steps - known.keys()), key=lambda s: (s[0], sorted(s[1])))
    return Estimate(
        seconds=compiling_seconds(builds, cores)
        + math.fsum(others.values())
        + (START_S if steps else 0.0),
        gpu_seconds=gpu,
        unknown=tuple(unknown),
    )


def compiling_seconds(builds: Iterable[float], cores: int) -> float:
    """Return how long compilations of so many processor seconds each take, longest first."""
    busy_until = [0.0] * cores
    for each in sorted(builds, reverse=True):
        heapq.heappush(busy_until, heapq.heappop(busy_until) + each + STEP_S)
    return max(busy_until)
