"""What a run compiles: every build that its sources call for, and those of them made here. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.catalog.tuning import choices_to_hold
from assay.judging.needs import closure, comparisons_of, primary_terms, programs_of
from assay.measuring.operator_kernels import offered
from assay.records.claims import Claim
from assay.records.evaluations import Support
from assay.records.plan import BuildJob, ProgramJob


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
        swept = {target: _sweeps(catalog, target, every=tuning) for target in targets}
    everywhere = {*comparisons_of(catalog, claims), *(n for names in swept.values() for n in names)}
    archs = {catalog.targets[target].arch for target in targets}
    variants = variants_of(catalog, everywhere)
    if whole:  # PyTorch's operators are tried through all of them
        variants |= {kernel.variant for target in targets for kernel in offered(catalog, target)}
    builds = tuple(_builds(catalog, claims, variants, programs_of(claims), archs))
    return Work(claims, swept, builds)


def compiled_builds(
    catalog: Catalog,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    everything: bool,
    tuning: bool = False,
    only: Sequence[str] = (),
) -> tuple[BuildJob, ...]:
    """Return what a run compiles here: known before it is known where its figures come from.

    ``everything``: whether it measures here, or was told to compile all; ``tuning``: whether it
    measures the sweeps behind the choices, whatever its sources; ``only``: the claims of these
    that are asked for, where not all are.
    """
    work = find_work(catalog, sources, targets, tuning=tuning, only=only)
    return work.compiled_here(catalog, everything=everything)


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


def _sweeps(catalog: Catalog, target: str, *, every: bool) -> set[str]:
    """Return the comparisons that the choices made for ``target`` rest on, or ``every`` sweep."""
    choices = choices_to_hold(catalog, target) if every else catalog.tuning.of(target)
    return {choice.evidence.comparison for choice in choices}


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
