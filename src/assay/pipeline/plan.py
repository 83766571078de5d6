"""The plan: which claim is answered how, and which jobs that takes. Pure.

Every claim and audit gets at least one answer, and one that is ``not_run`` names its reason. What a
target measures follows from the answers on it, but for the sweeps behind config/tuning.yaml.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from assay.catalog.model import Catalog
from assay.evidence.stages import as_held
from assay.judging.answers import Asked, asks_for_speed, make_answers
from assay.judging.needs import (
    closure,
    comparisons_of,
    needed_on,
    primary_terms,
    programs_of,
    variants_of,
)
from assay.records.claims import Claim
from assay.records.evaluations import Support
from assay.records.plan import Answer, BuildJob, Plan, ProgramJob, Provision, Request, TargetPlan
from assay.records.platform import is_for


def make_plan(catalog: Catalog, request: Request) -> Plan:
    """Plan ``request`` against the catalog. Raises BadInput for unknown sources or targets."""
    targets, only = [provision.target for provision in request.targets], request.claims
    catalog.check_selection(request.sources, targets)
    claims = tuple(catalog.claims_of(request.sources, only))
    answers = tuple(make_answers(catalog, Asked.by_request(request), claims))
    swept = {target: _swept(catalog, request, target) for target in targets}
    needed = closure(catalog, claims)
    every = tuple(_builds(catalog, request, needed, swept))
    builds = tuple(_compiled_here(catalog, request, every, needed, answers))
    return Plan(
        schema="assay/plan/1",
        run=request.run,
        sources=request.sources,
        claims=only,
        builds=builds,
        not_compiled=tuple(job for job in every if job not in builds),
        compilations=tuple(each.job for each in request.compilations),
        toolchains=_toolchains(catalog, request, builds),
        judges_only=request.judges_only,
        targets=tuple(
            _target_plan(catalog, request, provision, answers, swept[provision.target])
            for provision in request.targets
        ),
        answers=answers,
    )


def _swept(catalog: Catalog, request: Request, target: str) -> set[str]:
    """Return comparisons behind a target's choices, of runs of all own claims or sweeps alone."""
    ours = any(catalog.sources[source].source.file is None for source in request.sources)
    whole = catalog.project is None and ours and not request.claims
    if not (request.tuning or whole):
        return set()
    choices = catalog.choices_to_hold(target) if request.tuning else catalog.tuning.of(target)
    return {choice.evidence.comparison for choice in choices}


def _programs(catalog: Catalog, claims: Iterable[Claim], target: str) -> list[ProgramJob]:
    """Return a target's programs: where nothing is timed, those that check themselves."""
    of = catalog.targets[target]
    asked = [claim for claim in claims if of.timed or not asks_for_speed(claim)]
    return [
        job for job in programs_of(asked) if is_for(catalog.programs[job.program].archs, of.arch)
    ]


def _builds(
    catalog: Catalog, request: Request, claims: Sequence[Claim], swept: Mapping[str, Set[str]]
) -> Iterator[BuildJob]:
    """Yield every needed compilation once, for the targets' architectures and those that statements
    on what compiles name. ``claims``: with those that their answers rest on.
    """
    archs = {catalog.targets[target].arch for target in swept}
    variants = variants_of(catalog, {*comparisons_of(catalog, claims)}.union(*swept.values()))
    jobs: dict[BuildJob, None] = {}
    programs = {
        (job.program, catalog.targets[target].arch)
        for target in swept
        for job in _programs(catalog, claims, target)
    }
    for program, arch in sorted(programs, reverse=True):  # the slowest first
        jobs[BuildJob(kind="program", id=program, arch=arch)] = None
    for name, variant in catalog.variants.items():
        compiled = name in variants and variant.kind == "kernel"
        for of in sorted(archs) if compiled else ():
            if is_for(variant.archs, of):
                jobs[BuildJob(kind="variant", id=name, arch=of)] = None
    for claim in claims:
        if isinstance(claim.evaluation, Support):
            probe, wanted = claim.evaluation.probe, claim.evaluation.arch
            kind = "probe" if probe in catalog.probes else "program"
            jobs[BuildJob.model_validate({"kind": kind, "id": probe, "arch": wanted})] = None
    yield from jobs


def _compiled_here(
    catalog: Catalog,
    request: Request,
    builds: Iterable[BuildJob],
    claims: Sequence[Claim],
    answers: Sequence[Answer],
) -> Iterator[BuildJob]:
    """Yield what a run compiles of its builds: all where it measures, or was told to. Elsewhere
    nothing compiled runs, and a first run shall end within minutes: left to others are original
    programs, variants that no claim's primary reading rests on, and targets that have no figures
    beside some that have; where none has, those of which no claim speaks.
    """
    measures = any(provision.kind == "device" for provision in request.targets)
    if request.judges_only:
        return
    if measures or request.rebuild or request.prebuilt is not None:
        yield from builds
        return
    idle = unanswered(request.targets, answers)
    judged = [each for each in request.targets if each.kind != "none"]
    told = judged or [each for each in request.targets if each.target not in idle]
    archs = {catalog.targets[each.target].arch for each in told}
    claimed = {
        arm.variant
        for term in primary_terms(claims)
        for arm in catalog.comparisons[term.comparison].arms
        if arm.id in (term.arm, term.over)
    }
    for job in builds:
        if job.kind == "probe" or (job.id in claimed and job.arch in archs):
            yield job


def unanswered(provisions: Iterable[Provision], answers: Iterable[Answer]) -> tuple[str, ...]:
    """Return targets that have no figures and no answers: nothing is compiled for them."""
    told = {answer.target for answer in answers}
    return tuple(p.target for p in provisions if p.kind == "none" and p.target not in told)


def _toolchains(catalog: Catalog, request: Request, builds: Iterable[BuildJob]) -> tuple[str, ...]:
    """Targets whose images compile: of each architecture the first; a probe's without a target
    takes any. Builds taken over bring the record of their image along.
    """
    if request.prebuilt is not None:
        return request.prebuilt_toolchains
    if request.runtime == "host":
        return ()
    first: dict[str, str] = {}
    for provision in request.targets:
        first.setdefault(catalog.targets[provision.target].arch, provision.target)
    needed = {job.arch for job in builds}
    if any(each.job.build is not None for each in request.originals):  # a command's build line
        measured = (each.target for each in request.targets if each.kind == "device")
        needed |= {catalog.targets[target].arch for target in measured}
    chosen = [target for arch, target in first.items() if arch in needed]
    return tuple(chosen or [provision.target for provision in request.targets[:1]])


def _target_plan(
    catalog: Catalog,
    request: Request,
    provision: Provision,
    answers: Sequence[Answer],
    swept: Set[str],
) -> TargetPlan:
    """Return what is measured on, or taken over for, one target: what its answers need, but for
    what is neither made in this run nor held by another.
    """
    target, claims = provision.target, needed_on(catalog, answers, provision.target)
    arch, timed = catalog.targets[target].arch, catalog.targets[target].timed
    measured = provision.kind == "device"
    nothing = TargetPlan(
        target=target, provision=provision, comparisons=(), programs=(), profiles=()
    )
    held = next((each for each in request.held if each.target == target), nothing)
    wanted = {*comparisons_of(catalog, claims), *swept}
    comparisons = tuple(
        name
        for name in catalog.comparisons
        if name in wanted and (measured or name in held.comparisons)
    )
    programs = _programs(catalog, claims, target)
    profiled = {name: catalog.comparisons[name].profile for name in comparisons if timed}
    variants = variants_of(catalog, comparisons)
    plan = TargetPlan(
        target=target,
        provision=provision,
        timed=timed,
        comparisons=comparisons,
        programs=tuple(programs),
        profiles=tuple((name, arm) for name, arms in profiled.items() for arm in arms),
        stopwatches=tuple(name for name, arms in profiled.items() if arms),
        cheats=bool(comparisons),
        sanitized=tuple(
            name
            for name, variant in catalog.variants.items()
            if name in variants and variant.kind == "kernel" and is_for(variant.archs, arch)
        ),
        originals=held.originals or tuple(original.job for original in request.originals),
        compilations=held.compilations,
        runner=held is not nothing or request.runtime != "host",
    )
    return plan if measured else as_held(plan, held)
