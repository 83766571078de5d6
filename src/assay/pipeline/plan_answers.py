"""The plan's answers: how each claim and audit is answered on each target, or why not. Pure."""

from collections.abc import Iterable, Iterator

from assay.catalog.model import Catalog
from assay.evidence.stages import benchmark_path, correctness_path, program_path
from assay.judging.cutlass_output import job_id
from assay.records.claims import Claim
from assay.records.evaluations import (
    Arithmetic,
    Benchmark,
    DeviceCode,
    Execution,
    Inspection,
    NotRun,
    Program,
    Support,
    Unanswerable,
)
from assay.records.plan import Answer, Provision, Request
from assay.records.targets import Target


def make_answers(catalog: Catalog, request: Request, claims: Iterable[Claim]) -> Iterator[Answer]:
    """Yield an answer or more for every claim, then one for every audit of the selected sources.

    The detail of what is not run is a sentence: its verdict explains itself with it.
    """
    for claim in claims:
        match claim.evaluation:
            case Arithmetic() | Inspection() | DeviceCode() | Support():
                yield _answer(claim.id, None, "compute", None, "needs no GPU")
            case Unanswerable(reason=reason, detail=detail):
                yield _answer(claim.id, claim.hardware.target, "not_run", reason, detail)
            case _:
                yield from _measured_answers(catalog, request, claim)
    for source in request.sources:
        for audit in catalog.sources[source].audits:
            yield _answer(audit.id, None, "compute", None, "arithmetic of the source")


def _measured_answers(catalog: Catalog, request: Request, claim: Claim) -> Iterator[Answer]:
    """Answers of a claim that needs a GPU: on its own target, or on every one if it names none."""
    provisions = {provision.target: provision for provision in request.targets}
    wanted = claim.hardware.target
    if wanted is not None and wanted not in provisions:
        yield _answer(
            claim.id, wanted, "not_run", NotRun.NOT_SELECTED, f"Target {wanted} was not asked for."
        )
        return
    for name in [wanted] if wanted is not None else list(provisions):
        provision, target = provisions[name], catalog.targets[name]
        if provision.kind == "none":
            reason = provision.reason or NotRun.NO_DEVICE
            yield _answer(claim.id, name, "not_run", reason, f"{provision.detail.rstrip('.')}.")
        elif not _arch_supported(catalog, claim, target):
            detail = f"What the claim needs is not built for {target.arch}."
            yield _answer(claim.id, name, "not_run", NotRun.UNSUPPORTED_ARCH, detail)
        elif provision.kind == "recorded" and (lacking := _not_recorded(claim, provision)):
            detail = f"{provision.recorded_in} holds no {lacking} that fits the configuration."
            yield _answer(claim.id, name, "not_run", NotRun.NOT_RECORDED, detail)
        else:
            way = "measure" if provision.kind == "device" else "recorded"
            yield _answer(claim.id, name, way, None, provision.detail)


def _arch_supported(catalog: Catalog, claim: Claim, target: Target) -> bool:
    match claim.evaluation:
        case Program(program=program):
            return target.arch in catalog.programs[program].archs
        case Benchmark(terms=terms):
            for term in terms:
                for arm in catalog.comparisons[term.comparison].arms:
                    variant = catalog.variants[arm.variant]
                    if (
                        arm.id in (term.arm, term.over)
                        and variant.kind == "kernel"
                        and target.arch not in variant.archs
                    ):
                        return False
            return True
        case _:
            return True


def _not_recorded(claim: Claim, provision: Provision) -> str | None:
    """Return the first evidence path the claim needs and the recorded report lacks."""
    held = set(provision.recorded_paths)
    match claim.evaluation:
        case Execution(terms=terms):
            needed = [correctness_path(provision.target, term.comparison) for term in terms]
        case Benchmark(terms=terms):
            needed = [benchmark_path(provision.target, term.comparison) for term in terms]
        case Program(program=program, stated=stated):
            needed = [program_path(provision.target, job_id(program, stated.arguments))]
        case _:
            needed = []
    return next((path for path in needed if path not in held), None)


def _answer(claim: str, target: str | None, way: str, reason: NotRun | None, detail: str) -> Answer:
    return Answer.model_validate(
        {"claim": claim, "target": target, "way": way, "reason": reason, "detail": detail}
    )
