"""A run's builds as Snakemake asks for them: their files, weight and memory."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.base.io import read_record
from assay.building.recipe import Compilation, describe
from assay.building.toolchain import toolchain_lock_digest
from assay.catalog.model import Catalog
from assay.records.builds import BuildCost, BuildCosts
from assay.records.plan import BuildJob

COSTS = "config/build_costs.json"
MEMORY_PERCENT = 110
"""Of what the largest process takes: the shell, nvcc and Snakemake's own stand beside it."""
MB = 1_000_000


def variants_of(catalog: Catalog, comparisons: Iterable[str]) -> set[str]:
    """Return the variants of the comparisons' arms."""
    return {arm.variant for name in comparisons for arm in catalog.comparisons[name].arms}


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
        kind = next(job.kind for job in self.jobs if (job.id, job.arch) == (artifact, arch))
        return describe(self.root, self.catalog, kind, artifact, arch, self._lock, self.project)

    def _cost(self, artifact: str, arch: str) -> BuildCost:
        """Return its last known cost; of one never compiled, that of the costliest of its kind."""
        if (artifact, arch) in self._costs:
            return self._costs[artifact, arch]
        programs = self.catalog.programs
        alike = [
            cost for cost in self._costs.values() if (cost.id in programs) == (artifact in programs)
        ]
        seconds = max((cost.cpu_seconds for cost in alike), default=0.0)
        peak = max((cost.peak_bytes for cost in alike), default=0)
        return BuildCost(id=artifact, arch=arch, cpu_seconds=seconds, peak_bytes=peak)

    @cached_property
    def _costs(self) -> dict[tuple[str, str], BuildCost]:
        return known_costs(self.root)

    @cached_property
    def _lock(self) -> str:
        return toolchain_lock_digest(self.root)


def known_costs(root: Path) -> dict[tuple[str, str], BuildCost]:
    """Return what the repository knows of earlier compilations, by artifact and architecture; a
    tree without the file knows nothing.
    """
    path = root / COSTS
    costs = read_record(BuildCosts, path).costs if path.is_file() else ()
    return {(cost.id, cost.arch): cost for cost in costs}
