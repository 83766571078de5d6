"""The compilations of a run as Snakemake must know them: files, weight, memory.

The rule ``build`` asks here; nothing here imports Snakemake.
"""

import heapq
import math
from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.base.io import read_record
from assay.building.recipe import Compilation, Kind, describe
from assay.building.toolchain import toolchain_lock_digest
from assay.catalog.model import Catalog
from assay.records.build_costs import BuildCost, BuildCosts
from assay.records.plan import BuildJob

COSTS = "config/build_costs.json"
MEMORY_PERCENT = 110
"""Of what the largest process takes: the shell, nvcc and Snakemake's own stand beside it."""
MB = 1_000_000
START_S = 2.2
"""Processor seconds of a compilation beside its work: two starts of Python, Snakemake's own."""


@dataclass(frozen=True)
class Compilations:
    """The compilations of one plan, by artifact and architecture."""

    root: Path
    catalog: Catalog
    jobs: tuple[BuildJob, ...]
    project: Path | None = None
    """The folder of a project's files."""

    def sources(self, artifact: str, arch: str) -> list[str]:
        """Our files that the compiler reads for it, and no other; a package's files have none."""
        return [source.path for source in self._described(artifact, arch).sources]

    def key(self, artifact: str, arch: str) -> str:
        """Digest that changes with anything that the outcome rests on."""
        return self._described(artifact, arch).key

    def priority(self, artifact: str, arch: str) -> int:
        """Processor seconds it took the last time: what takes longest is started first."""
        return math.ceil(self._cost(artifact, arch).cpu_seconds)

    def memory_mb(self, artifact: str, arch: str) -> int:
        """Memory that it takes, in MB of 1,000,000 bytes."""
        return math.ceil(self._cost(artifact, arch).peak_bytes * MEMORY_PERCENT / (100 * MB))

    def _described(self, artifact: str, arch: str) -> Compilation:
        job = self._job(artifact, arch)
        return describe(self.root, self.catalog, job.kind, artifact, arch, self._lock, self.project)

    def _job(self, artifact: str, arch: str) -> BuildJob:
        return next(job for job in self.jobs if (job.id, job.arch) == (artifact, arch))

    def _cost(self, artifact: str, arch: str) -> BuildCost:
        """Return its last known cost; of one never compiled, that of the costliest of its kind."""
        if (artifact, arch) in self._costs:
            return self._costs[artifact, arch]
        alike = self._of_kind(self._job(artifact, arch).kind)
        return worst(artifact, arch, (c for c in self._costs.values() if c.id in alike))

    def _of_kind(self, kind: Kind) -> Set[str]:
        match kind:
            case "program":
                return self.catalog.programs.keys()
            case "variant":
                return self.catalog.variants.keys()
            case "probe":
                return self.catalog.probes.keys()

    @cached_property
    def _costs(self) -> dict[tuple[str, str], BuildCost]:
        return {(cost.id, cost.arch): cost for cost in known_costs(self.root)}

    @cached_property
    def _lock(self) -> str:
        return toolchain_lock_digest(self.root)


def known_costs(root: Path) -> tuple[BuildCost, ...]:
    """Return what the repository knows of earlier compilations; a tree without the file knows
    nothing.
    """
    path = root / COSTS
    return read_record(BuildCosts, path).costs if path.is_file() else ()


def worst(artifact: str, arch: str, costs: Iterable[BuildCost]) -> BuildCost:
    """Return a cost as large as the largest time and the largest memory of ``costs``."""
    found = list(costs)
    return BuildCost(
        id=artifact,
        arch=arch,
        cpu_seconds=max((cost.cpu_seconds for cost in found), default=0.0),
        peak_bytes=max((cost.peak_bytes for cost in found), default=0),
    )


def compiling_seconds(builds: Iterable[float], cores: int) -> float:
    """Return how long compilations of so many processor seconds each take, longest first."""
    busy_until = [0.0] * cores
    for each in sorted(builds, reverse=True):
        heapq.heappush(busy_until, heapq.heappop(busy_until) + each + START_S)
    return max(busy_until)
