"""The plan's answers: how each claim and audit is answered on each target, or why not. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assay.base.printable import capital
from assay.catalog.model import Catalog
from assay.judging.cutlass_output import job_id
from assay.judging.needs import terms_of
from assay.records import evaluations as ways
from assay.records.claims import Claim
from assay.records.evaluations import NotRun
from assay.records.plan import Answer, Provision, Request, TargetPlan
from assay.records.platform import Target, is_for

UNTIMED = (ways.Execution, ways.GateFigure)
"""What the gate alone answers."""


@dataclass(frozen=True)
class Asked:
    """What the answers of a plan follow from, beside the catalog."""

    sources: tuple[str, ...]
    provisions: tuple[Provision, ...]
    own_programs: frozenset[str]
    """Sources whose own program the user has; of figures taken over, ``held`` tells."""
    compiled: frozenset[tuple[str, str]] = frozenset()
    """Files that are compiled as published in this run, and the architectures they are for."""
    only: frozenset[str] = frozenset()
    """Claims and audits, where not all of the sources' are asked for."""
    held: tuple[TargetPlan, ...] = ()
    """What there is of recorded targets; of a plan what it calls for, which is all that answers."""

    @classmethod
    def by_request(cls, request: Request) -> "Asked":
        """Return what a run was asked for."""
        given = frozenset(original.job.source for original in request.originals)
        compiled = frozenset(each.job.key for each in request.compilations)
        only = frozenset(request.claims)
        return cls(request.sources, request.targets, given, compiled, only, request.held)


def make_answers(catalog: Catalog, asked: Asked, claims: Iterable[Claim]) -> Iterator[Answer]:
    """Yield an answer or more for every claim, then one for every audit of the selected sources.

    The detail of what is not run is a sentence: its verdict explains itself with it.
    """
    for claim in claims:
        match claim.evaluation:
            case ways.Arithmetic() | ways.Inspection() | ways.DeviceCode() | ways.Support():
                yield _answer(claim.id, None, "compute", None, "needs no GPU")
            case ways.Compiles() as evaluation:
                yield _compiled_answer(catalog, asked, claim, evaluation)
            case ways.Unanswerable() if _by_command(catalog, claim):
                yield from _measured_answers(catalog, asked, claim)
            case ways.Unanswerable(reason=reason, detail=detail) if not _ran(catalog, asked, claim):
                yield _answer(claim.id, claim.hardware.target, "not_run", reason, detail)
            case _:
                yield from _measured_answers(catalog, asked, claim)
    for source in asked.sources:
        audits = catalog.sources[source].audits
        for audit in (each for each in audits if not asked.only or each.id in asked.only):
            yield _answer(audit.id, None, "compute", None, "arithmetic of the source")


def _measured_answers(catalog: Catalog, asked: Asked, claim: Claim) -> Iterator[Answer]:
    """Yield the answers of a claim that needs a GPU: on the hardware it is for, then elsewhere.

    It is for every target where it names none. Elsewhere means other targets of the run whose GPU
    can run it; there, what has no figure needs no answer.
    """
    provisions = {provision.target: provision for provision in asked.provisions}
    own = [name for name in claim.hardware.targets or provisions if name in provisions]
    if not own:
        wanted = claim.hardware.targets[0]
        detail = f"Target {wanted} was not asked for."
        yield _answer(claim.id, wanted, "not_run", NotRun.NOT_SELECTED, detail)
    for name in own:
        yield _answer_on(catalog, asked, claim, provisions[name])
    if claim.hardware.only:
        return
    elsewhere = (provision for name, provision in provisions.items() if name not in own)
    for answer in (_answer_on(catalog, asked, claim, provision) for provision in elsewhere):
        if answer.way != "not_run":
            yield answer


def _compiled_answer(
    catalog: Catalog, asked: Asked, claim: Claim, evaluation: ways.Compiles
) -> Answer:
    """Return the answer of a claim on a file that is compiled as published, here or before."""
    before = {job.key for each in asked.held for job in each.compilations}
    if (evaluation.compilation, evaluation.arch) in asked.compiled | before:
        return _answer(claim.id, None, "compute", None, "needs no GPU")
    source = catalog.source_of[claim.id]
    published = catalog.published_file(source, evaluation.compilation)
    assert published is not None
    detail = (
        f"{published.file} is not in this repository ({published.public}): give a checkout with "
        f"--original {source}=DIR and --runtime host, and it is compiled for {evaluation.arch} as "
        "published; that needs no GPU."
    )
    return _answer(claim.id, None, "not_run", NotRun.ORIGINAL_UNAVAILABLE, detail)


def _by_command(catalog: Catalog, claim: Claim) -> bool:
    """Return whether a command of the project prints a claim's figure: its code is at hand, and it
    waits for nothing but a GPU.
    """
    source = catalog.sources[catalog.source_of[claim.id]]
    return catalog.project is not None and source.program_of(claim.id) in source.commands


def _ran(catalog: Catalog, asked: Asked, claim: Claim) -> bool:
    """Return whether a claim's own program is given, or ran where figures come from."""
    source, _ = catalog.program_of(claim.id) or (catalog.source_of[claim.id], None)
    held = (job.source for each in asked.held for job in each.originals)
    return _given(catalog, asked, claim) or source in held


def _given(catalog: Catalog, asked: Asked, claim: Claim) -> bool:
    """Return whether the user has a checkout of the program that prints a claim's figure."""
    found = catalog.program_of(claim.id)
    return found is not None and found[0] in asked.own_programs


def _answer_on(catalog: Catalog, asked: Asked, claim: Claim, provision: Provision) -> Answer:
    name = provision.target
    if provision.kind == "none":
        reason = provision.reason or NotRun.NO_DEVICE
        return _answer(claim.id, name, "not_run", reason, f"{provision.detail.rstrip('.')}.")
    if provision.kind == "device" and _given(catalog, asked, claim):
        return _answer(claim.id, name, "measure", None, provision.detail)
    if unfit := _unfit(catalog, claim, catalog.targets[name]):
        return _answer(claim.id, name, "not_run", NotRun.UNSUPPORTED_ARCH, unfit)
    held = next((each for each in asked.held if each.target == name), None)
    if held is None or _is_recorded(catalog, claim, held):
        way = "measure" if provision.kind == "device" else "recorded"
        return _answer(claim.id, name, way, None, provision.detail)
    # A report whose figures are taken over has none. Where this machine lacks the GPU, that is the
    # reason: nobody ever asked that report for what a project claims.
    taken, absence = provision.recorded_in, provision.absence
    if absence is not None:
        reason = provision.reason or NotRun.NO_DEVICE
        detail = f"{capital(absence.rstrip('.'))}, and {taken} has no record of it."
        return _answer(claim.id, name, "not_run", reason, detail)
    detail = (
        f"{taken}, which figures are taken from, has no record of it that fits today's "
        f"configuration."
    )
    return _answer(claim.id, name, "not_run", NotRun.NOT_RECORDED, detail)


def _parts(catalog: Catalog, evaluation: ways.Derived) -> tuple[Claim, Claim]:
    return catalog.claims[evaluation.numerator], catalog.claims[evaluation.denominator]


def _unfit(catalog: Catalog, claim: Claim, target: Target) -> str | None:
    """Return why a target cannot answer a claim, whatever machine it is measured on."""
    if not _arch_supported(catalog, claim, target.arch):
        return f"What the claim needs is not built for {target.arch}."
    if not target.timed and asks_for_speed(claim):
        return f"{target.id} shows what code computes, and of its speed nothing."
    return None


def asks_for_speed(claim: Claim) -> bool:
    """Return whether a time would answer; of a program that claims no figure, its check does."""
    checks = isinstance(claim.evaluation, ways.Program) and claim.value is None
    return not checks and not isinstance(claim.evaluation, UNTIMED)


def _arch_supported(catalog: Catalog, claim: Claim, arch: str) -> bool:
    evaluation = claim.evaluation
    if isinstance(evaluation, ways.Program):
        return is_for(catalog.programs[evaluation.program].archs, arch)
    if isinstance(evaluation, ways.Derived):
        return all(_arch_supported(catalog, part, arch) for part in _parts(catalog, evaluation))
    archs = (
        catalog.variants[arm.variant].archs
        for term in terms_of(evaluation, beside=False)
        for arm in catalog.comparisons[term.comparison].arms
        if arm.id in (term.arm, term.over)
    )
    return all(not named or is_for(named, arch) for named in archs)


def _is_recorded(catalog: Catalog, claim: Claim, held: TargetPlan) -> bool:
    """Return whether what the claim needs is among what there is of a recorded target: also what
    its own program printed, where that is its figure as it stands, and no other reading.
    """
    source = catalog.sources[catalog.source_of[claim.id]]
    ran = {job.original for job in held.originals}
    _, own = catalog.program_of(claim.id) or ("", None)
    figure = own.figure_of(claim.id) if own else None
    if own is not None and figure is not None and figure.counts is None and own.id in ran:
        return True
    match claim.evaluation:
        case ways.Program(program=program, stated=stated):
            return job_id(program, stated.arguments) in {job.id for job in held.programs}
        case ways.Derived() as evaluation:
            return all(_is_recorded(catalog, part, held) for part in _parts(catalog, evaluation))
        case ways.Unanswerable():
            original = own or source.original
            return original is None or original.id in ran
    terms = terms_of(claim.evaluation, beside=False)
    return all(term.comparison in held.comparisons for term in terms)


def _answer(claim: str, target: str | None, way: str, reason: NotRun | None, detail: str) -> Answer:
    return Answer.model_validate(
        {"claim": claim, "target": target, "way": way, "reason": reason, "detail": detail}
    )
