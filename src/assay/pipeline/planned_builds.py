"""What a run compiles: its builds, and their files, weight and memory, which Snakemake asks for."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.base.io import read_record
from assay.building.recipe import Compilation, describe
from assay.building.toolchain import toolchain_lock_digest
from assay.catalog.model import Catalog
from assay.judging.needs import closure, comparisons_of, primary_terms, programs_of
from assay.measuring.operator_kernels import offered
from assay.records.builds import BuildCost, BuildCosts
from assay.records.claims import Claim
from assay.records.evaluations import Support
from assay.records.plan import BuildJob, ProgramJob

COSTS = "config/build_costs.json"
MEMORY_PERCENT = 110
"""Of what the largest process takes: the shell, nvcc and Snakemake's own stand beside it."""
MB = 1_000_000


@dataclass(frozen=True)
class Work:
    """All that sources and targets call for, wherever it is done."""

    claims: Sequence[Claim]
    """With those that their answers rest on."""
    swept: Mapping[str, Set[str]]
    """Comparisons that each target's choices rest on, where they are measured."""
    builds: Sequence[BuildJob]

    def compiled_here(self, catalog: Catalog, *, everything: bool) -> tuple[BuildJob, ...]:
        """Return what a run compiles of its builds: all where it measures, or was told to.

        Elsewhere nothing that is compiled runs, and a first run shall end within minutes on a small
        machine: the original programs, which take longest, are left to machines that run them, and
        so are variants that no claim rests on: those of sweeps, and of readings beside the primary
        one.
        """
        if everything:
            return tuple(self.builds)
        claimed = {
            arm.variant
            for term in primary_terms(self.claims)
            for arm in catalog.comparisons[term.comparison].arms
            if arm.id in (term.arm, term.over)
        }
        return tuple(job for job in self.builds if job.kind == "probe" or job.id in claimed)


def find_work(
    catalog: Catalog,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    tuning: bool,
    only: Sequence[str] = (),
) -> Work:
    """Return what ``sources`` call for on ``targets``, or what ``only`` some of their claims do.

    ``tuning``: whether the sweeps are measured whatever the sources, those among them that a
    target has no choice of yet. They belong to what this project says of itself: a run for other
    sources does not pay for them.
    """
    claims = closure(catalog, catalog.claims_of(sources, only))
    whole = is_of_this_project(catalog, sources) and not only
    swept = {target: set[str]() for target in targets}
    if tuning or whole:
        for target in targets:
            choices = catalog.choices_to_hold(target) if tuning else catalog.tuning.of(target)
            swept[target] = {choice.evidence.comparison for choice in choices}
    everywhere = {*comparisons_of(catalog, claims), *(n for names in swept.values() for n in names)}
    archs = {catalog.targets[target].arch for target in targets}
    variants = variants_of(catalog, everywhere)
    if whole:  # PyTorch's operators are tried through all of them
        variants |= {kernel.variant for target in targets for kernel in offered(catalog, target)}
    builds = tuple(_builds(catalog, claims, variants, programs_of(claims), archs))
    return Work(claims, swept, builds)


def is_of_this_project(catalog: Catalog, sources: Iterable[str]) -> bool:
    """Return whether a run is about what Assay says of itself, among others.

    A project of one's own may have statements of its own; they bring none of Assay's sweeps.
    """
    return catalog.project is None and any(
        catalog.sources[source].source.file is None for source in sources
    )


def variants_of(catalog: Catalog, comparisons: Iterable[str]) -> set[str]:
    """Return the variants of the comparisons' arms."""
    return {arm.variant for name in comparisons for arm in catalog.comparisons[name].arms}


def _builds(
    catalog: Catalog,
    claims: Iterable[Claim],
    variants: Set[str],
    programs: Iterable[ProgramJob],
    archs: Set[str],
) -> Iterator[BuildJob]:
    """Yield every compilation of what is needed, once each: for ``archs``, those of the targets.

    A statement on what compiles brings the architecture that it names.
    """
    jobs: dict[BuildJob, None] = {}
    for program in sorted({job.program for job in programs}, reverse=True):
        for arch in catalog.programs[program].archs:
            if arch in archs:
                jobs[BuildJob(kind="program", id=program, arch=arch)] = None
    for name, variant in catalog.variants.items():
        compiled = name in variants and variant.kind == "kernel"
        for arch in variant.archs if compiled else ():
            if arch in archs:
                jobs[BuildJob(kind="variant", id=name, arch=arch)] = None
    for claim in claims:
        if isinstance(claim.evaluation, Support):
            probe, wanted = claim.evaluation.probe, claim.evaluation.arch
            kind = "probe" if probe in catalog.probes else "program"
            jobs[BuildJob.model_validate({"kind": kind, "id": probe, "arch": wanted})] = None
    yield from jobs


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
