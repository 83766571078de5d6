"""The plan: which claim is answered how, and which jobs that takes. Pure.

Nothing is dropped silently: every claim and audit of the selected sources gets at least one answer,
and an answer that is ``not_run`` names its reason.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.stages import as_held
from assay.measuring.operator_kernels import offered
from assay.pipeline.needs import closure, comparisons_of, primary_terms, programs_of
from assay.pipeline.plan_answers import make_answers
from assay.records.claims import Claim
from assay.records.evaluations import Support
from assay.records.plan import BuildJob, Plan, ProgramJob, Provision, Request, TargetPlan


def make_plan(catalog: Catalog, request: Request) -> Plan:
    """Plan ``request`` against the catalog. Raises BadInput for unknown sources or targets."""
    targets = [provision.target for provision in request.targets]
    catalog.check_selection(request.sources, targets)
    work = _work(catalog, request.sources, targets, tuning=request.tuning)
    measures = any(provision.kind == "device" for provision in request.targets)
    everything = measures or request.rebuild or request.prebuilt is not None
    builds = _compiled_here(catalog, work, everything=everything)
    return Plan(
        schema="assay/plan/1",
        run=request.run,
        sources=request.sources,
        builds=builds,
        not_compiled=tuple(job for job in work.builds if job not in builds),
        toolchains=_toolchains(catalog, request, builds),
        targets=tuple(
            _target_plan(
                catalog,
                request,
                provision,
                work.comparisons_on(provision.target),
                work.programs,
                work.builds,
            )
            for provision in request.targets
        ),
        answers=tuple(make_answers(catalog, request, catalog.claims_of(request.sources))),
    )


def compiled_builds(
    catalog: Catalog,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    everything: bool,
    tuning: bool = False,
) -> tuple[BuildJob, ...]:
    """Return what a run compiles here: known before it is known where its figures come from.

    ``everything``: whether it measures here, or was told to compile all; ``tuning``: whether it
    measures the sweeps behind the choices, whatever its sources.
    """
    work = _work(catalog, sources, targets, tuning=tuning)
    return _compiled_here(catalog, work, everything=everything)


@dataclass(frozen=True)
class _Work:
    """All that sources and targets call for, wherever it is done."""

    claims: Sequence[Claim]
    """With those that their answers rest on."""
    asked: Sequence[str]
    """Comparisons that the claims need."""
    swept: Mapping[str, Set[str]]
    """Comparisons that each target's choices rest on, where they are measured."""
    comparisons: Sequence[str]
    """Both, in catalog order."""
    programs: Sequence[ProgramJob]
    builds: Sequence[BuildJob]

    def comparisons_on(self, target: str) -> list[str]:
        """Return those that one target is to have."""
        wanted = {*self.asked, *self.swept[target]}
        return [name for name in self.comparisons if name in wanted]


def _work(
    catalog: Catalog, sources: Sequence[str], targets: Sequence[str], *, tuning: bool
) -> _Work:
    claims = closure(catalog, catalog.claims_of(sources))
    asked = comparisons_of(catalog, claims)
    sweeps = tuning or _is_of_this_project(catalog, sources)
    swept = {target: _sweeps(catalog, target) if sweeps else set[str]() for target in targets}
    everywhere = {*asked, *(name for names in swept.values() for name in names)}
    comparisons = [name for name in catalog.comparisons if name in everywhere]
    programs = programs_of(claims)
    builds = tuple(_builds(catalog, claims, comparisons, programs))
    return _Work(claims, asked, swept, comparisons, programs, builds)


def _toolchains(catalog: Catalog, request: Request, builds: Iterable[BuildJob]) -> tuple[str, ...]:
    """Targets whose toolchain images compile: one for each architecture, the first that has it.

    An architecture without a target (a probe's) is compiled in the first image. Builds taken over
    bring the record of their image along, where they were compiled in one.
    """
    if request.prebuilt is not None:
        return request.prebuilt_toolchains
    if request.runtime == "host":
        return ()
    first: dict[str, str] = {}
    for provision in request.targets:
        first.setdefault(catalog.targets[provision.target].arch, provision.target)
    needed = {job.arch for job in builds}
    chosen = [target for arch, target in first.items() if arch in needed]
    return tuple(chosen or [provision.target for provision in request.targets[:1]])


def _sweeps(catalog: Catalog, target: str) -> set[str]:
    """Return the comparisons that the choices made for ``target`` rest on.

    They belong to what this project says of itself: a run for other sources does not pay for them.
    """
    return {choice.evidence.comparison for choice in catalog.tuning.of(target)}


def _is_of_this_project(catalog: Catalog, sources: Iterable[str]) -> bool:
    """Return whether a run is about what this project says of itself, among others."""
    return any(catalog.sources[source].source.file is None for source in sources)


def _operators(
    catalog: Catalog, request: Request, target: str, builds: Iterable[BuildJob]
) -> Iterator[str]:
    """Yield variants behind PyTorch's operators; as with sweeps, other sources do not pay for
    them.
    """
    if _is_of_this_project(catalog, request.sources):
        built = {job.id for job in builds if job.arch == catalog.targets[target].arch}
        yield from (e.variant for e in offered(catalog, target) if e.variant in built)


def _builds(
    catalog: Catalog,
    claims: Iterable[Claim],
    comparisons: Iterable[str],
    programs: Iterable[ProgramJob],
) -> Iterator[BuildJob]:
    """Yield every compilation: all architectures of what is needed, once each."""
    for program in sorted({job.program for job in programs}, reverse=True):
        for arch in catalog.programs[program].archs:
            yield BuildJob(kind="program", id=program, arch=arch)
    variants = _variants(catalog, comparisons)
    for name, variant in catalog.variants.items():
        if name in variants:
            for arch in variant.archs:
                yield BuildJob(kind="variant", id=name, arch=arch)
    probes: dict[tuple[str, str], BuildJob] = {}
    for claim in claims:
        if isinstance(claim.evaluation, Support):
            probe, wanted = claim.evaluation.probe, claim.evaluation.arch
            if probe in catalog.probes:
                probes[probe, wanted] = BuildJob(kind="probe", id=probe, arch=wanted)
            elif wanted not in catalog.programs[probe].archs or not any(
                job.program == probe for job in programs
            ):
                probes[probe, wanted] = BuildJob(kind="program", id=probe, arch=wanted)
    yield from probes.values()


def _variants(catalog: Catalog, comparisons: Iterable[str]) -> set[str]:
    return {arm.variant for name in comparisons for arm in catalog.comparisons[name].arms}


def _compiled_here(catalog: Catalog, work: _Work, *, everything: bool) -> tuple[BuildJob, ...]:
    """Return what a run compiles of its builds: all where it measures, or was told to.

    Elsewhere nothing that is compiled runs, and a first run shall end within minutes on a small
    machine: the original programs, which take longest, are left to machines that run them, and so
    are variants that no claim rests on: those of sweeps, and of readings beside the primary one.
    """
    if everything:
        return tuple(work.builds)
    claimed = {
        arm.variant
        for term in primary_terms(work.claims)
        for arm in catalog.comparisons[term.comparison].arms
        if arm.id in (term.arm, term.over)
    }
    return tuple(job for job in work.builds if job.kind == "probe" or job.id in claimed)


def _target_plan(
    catalog: Catalog,
    request: Request,
    provision: Provision,
    comparisons: Iterable[str],
    programs: Iterable[ProgramJob],
    builds: Iterable[BuildJob],
) -> TargetPlan:
    """Return what is measured on, or taken over for, one target."""
    arch = catalog.targets[provision.target].arch
    runnable = [job for job in programs if arch in catalog.programs[job.program].archs]
    figures = _obtainable(
        TargetPlan(
            target=provision.target,
            provision=provision,
            comparisons=tuple(comparisons),
            programs=tuple(runnable),
            profiles=(),
        )
    )
    profiled = {name: catalog.comparisons[name].profile for name in figures.comparisons}
    beside = {
        "profiles": tuple((name, arm) for name, arms in profiled.items() for arm in arms),
        "stopwatches": tuple(name for name, arms in profiled.items() if arms),
        "cheats": bool(figures.comparisons),
        "sanitized": tuple(_kernels(catalog, figures.comparisons, arch)),
        "operators": tuple(_operators(catalog, request, provision.target, builds)),
        "runner": provision.kind == "recorded" or request.runtime != "host",
    }
    return _obtainable(figures.model_copy(update=beside))


def _obtainable(plan: TargetPlan) -> TargetPlan:
    """Return the plan without what is neither made in this run nor there to be taken over."""
    provision = plan.provision
    return plan if provision.kind == "device" else as_held(plan, provision.recorded_paths)


def _kernels(catalog: Catalog, comparisons: Iterable[str], arch: str) -> Iterator[str]:
    """Compiled variants of the comparisons' arms, in catalog order."""
    used = _variants(catalog, comparisons)
    for name, variant in catalog.variants.items():
        if name in used and variant.kind == "kernel" and arch in variant.archs:
            yield name
