"""The plan: which claim is answered how, and which jobs that takes. Pure.

Nothing is dropped silently: every claim and audit of the selected sources gets at least one answer,
and an answer that is ``not_run`` names its reason. What a target measures follows from the answers
on it: nothing is measured that answers nothing, but the sweeps behind config/tuning.yaml.
"""

from collections.abc import Iterable, Iterator, Sequence

from assay.catalog.model import Catalog
from assay.evidence.stages import as_held
from assay.judging.answers import Asked, make_answers
from assay.judging.needs import comparisons_of, needed_on, programs_of
from assay.measuring.operator_kernels import offered
from assay.pipeline.planned_builds import Work, find_work, is_of_this_project, variants_of
from assay.records.claims import Claim
from assay.records.plan import Answer, BuildJob, Plan, Provision, Request, TargetPlan


def make_plan(catalog: Catalog, request: Request) -> Plan:
    """Plan ``request`` against the catalog. Raises BadInput for unknown sources or targets."""
    targets = [provision.target for provision in request.targets]
    catalog.check_selection(request.sources, targets)
    only = request.claims
    work = find_work(catalog, request.sources, targets, tuning=request.tuning, only=only)
    measures = any(provision.kind == "device" for provision in request.targets)
    everything = measures or request.rebuild or request.prebuilt is not None
    claims = tuple(catalog.claims_of(request.sources, only))
    answers = tuple(make_answers(catalog, Asked.by_request(request), claims))
    idle = () if everything else unanswered(request.targets, answers)
    wanted = {catalog.targets[target].arch for target in targets if target not in idle}
    for_nobody = {catalog.targets[target].arch for target in idle} - wanted
    builds = tuple(
        job
        for job in work.compiled_here(catalog, everything=everything)
        if not request.judges_only and (job.kind == "probe" or job.arch not in for_nobody)
    )
    return Plan(
        schema="assay/plan/1",
        run=request.run,
        sources=request.sources,
        claims=only,
        builds=builds,
        not_compiled=tuple(job for job in work.builds if job not in builds),
        compilations=tuple(each.job for each in request.compilations),
        toolchains=_toolchains(catalog, request, builds),
        judges_only=request.judges_only,
        targets=tuple(
            _target_plan(
                catalog, request, provision, work, needed_on(catalog, answers, provision.target)
            )
            for provision in request.targets
        ),
        answers=answers,
    )


def unanswered(provisions: Iterable[Provision], answers: Iterable[Answer]) -> tuple[str, ...]:
    """Return the targets that are neither measured nor taken over, and that no answer speaks of.

    No claim is for them; nothing is compiled on their account, unless a run compiles everything.
    """
    told = {answer.target for answer in answers}
    return tuple(p.target for p in provisions if p.kind == "none" and p.target not in told)


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
    if any(each.job.build is not None for each in request.originals):  # a command's build line
        measured = (each.target for each in request.targets if each.kind == "device")
        needed |= {catalog.targets[target].arch for target in measured}
    chosen = [target for arch, target in first.items() if arch in needed]
    return tuple(chosen or [provision.target for provision in request.targets[:1]])


def _operators(
    catalog: Catalog, request: Request, target: str, builds: Iterable[BuildJob]
) -> Iterator[str]:
    """Yield variants behind PyTorch's operators; as with sweeps, other sources do not pay for
    them.
    """
    if is_of_this_project(catalog, request.sources) and not request.claims:
        built = {job.id for job in builds if job.arch == catalog.targets[target].arch}
        yield from (e.variant for e in offered(catalog, target) if e.variant in built)


def _target_plan(
    catalog: Catalog, request: Request, provision: Provision, work: Work, claims: Sequence[Claim]
) -> TargetPlan:
    """Return what is measured on, or taken over for, one target: what answers ``claims``, but for
    what is neither made in this run nor held by another.
    """
    arch = catalog.targets[provision.target].arch
    empty = TargetPlan(
        target=provision.target, provision=provision, comparisons=(), programs=(), profiles=()
    )
    measured = provision.kind == "device"
    held = next((each for each in request.held if each.target == provision.target), None)
    wanted = {*comparisons_of(catalog, claims), *work.swept[provision.target]}
    comparisons = tuple(
        name
        for name in catalog.comparisons
        if name in wanted and (measured or name in (held or empty).comparisons)
    )
    programs = [job for job in programs_of(claims) if arch in catalog.programs[job.program].archs]
    profiled = {name: catalog.comparisons[name].profile for name in comparisons}
    variants = variants_of(catalog, comparisons)
    plan = empty.model_copy(
        update={
            "comparisons": comparisons,
            "programs": tuple(programs),
            "profiles": tuple((name, arm) for name, arms in profiled.items() for arm in arms),
            "stopwatches": tuple(name for name, arms in profiled.items() if arms),
            "cheats": bool(comparisons),
            "sanitized": tuple(
                name
                for name, variant in catalog.variants.items()
                if name in variants and variant.kind == "kernel" and arch in variant.archs
            ),
            "operators": tuple(_operators(catalog, request, provision.target, work.builds)),
            "originals": held.originals
            if held
            else tuple(original.job for original in request.originals),
            "compilations": held.compilations if held else (),
            "runner": held is not None or request.runtime != "host",
        }
    )
    return plan if measured else as_held(plan, held or empty)
