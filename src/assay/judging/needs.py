"""What claims need to be answered: other claims, comparisons, programs. Pure.

Every reading of a claim is measured by the same means as its primary one, so each counts here as an
evaluation of its own.
"""

from collections.abc import Iterable, Iterator

from assay.catalog.model import Catalog
from assay.judging.cutlass_output import job_id
from assay.records import evaluations as ways
from assay.records.claims import Claim
from assay.records.evaluations import Evaluation, Term
from assay.records.plan import Answer, ProgramJob


def closure(catalog: Catalog, claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims and those that their answers rest on or are shown beside."""
    found: dict[str, Claim] = {}
    waiting = list(claims)
    while waiting:
        claim = waiting.pop(0)
        if claim.id not in found:
            found[claim.id] = claim
            waiting += [catalog.claims[name] for name in _named(claim)]
    return list(found.values())


def needed_on(catalog: Catalog, answers: Iterable[Answer], target: str) -> list[Claim]:
    """Return the claims that are answered on a target, with those that their answers rest on.

    What comes nearest to a claim that nothing answers is measured on the hardware it is for.
    """
    answered: list[Claim] = []
    shown: dict[str, Claim] = {}
    for answer in answers:
        claim = catalog.claims.get(answer.claim)
        if claim is None:
            continue
        if answer.target == target and answer.way in ("measure", "recorded"):
            answered.append(claim)
        here = not claim.hardware.targets or target in claim.hardware.targets
        if here and isinstance(claim.evaluation, ways.Unanswerable):
            shown[claim.id] = claim
    return closure(catalog, [*answered, *shown.values()])


def comparisons_of(catalog: Catalog, claims: Iterable[Claim]) -> list[str]:
    """Return the ids of the comparisons that the claims need, in catalog order."""
    every = (evaluation for claim in claims for evaluation in evaluations_of(claim))
    named = {term.comparison for evaluation in every for term in terms_of(evaluation)}
    return [name for name in catalog.comparisons if name in named]


def variants_of(catalog: Catalog, comparisons: Iterable[str]) -> set[str]:
    """Return the variants of the comparisons' arms."""
    return {arm.variant for name in comparisons for arm in catalog.comparisons[name].arms}


def programs_of(claims: Iterable[Claim]) -> list[ProgramJob]:
    """Return every (program, arguments) that a reading of a claim calls for, once each.

    The command as the source types it is one of its readings, where it runs another problem.
    """
    jobs: dict[str, ProgramJob] = {}
    for evaluation in (each for claim in claims for each in evaluations_of(claim)):
        if isinstance(evaluation, ways.Program):
            program, arguments = evaluation.program, evaluation.stated.arguments
            job = job_id(program, arguments)
            jobs[job] = ProgramJob(id=job, program=program, arguments=arguments)
    return list(jobs.values())


def primary_terms(claims: Iterable[Claim]) -> Iterator[Term]:
    """Yield the arms that claims rest on, or are shown beside, without those of other readings."""
    for claim in claims:
        yield from terms_of(claim.evaluation)


def evaluations_of(claim: Claim) -> Iterator[Evaluation]:
    """Yield the claim's own evaluation, then those of its other readings."""
    yield claim.evaluation
    yield from (reading.evaluation for reading in claim.all_readings())


def terms_of(evaluation: Evaluation, *, beside: bool = True) -> Iterator[Term]:
    """Yield the arms that an evaluation rests on, and those whose figures are shown ``beside``."""
    match evaluation:
        case ways.Benchmark(terms=terms, alternatives=alternatives):
            yield from terms
            yield from (quantity.term for quantity in alternatives if beside)
        case ways.Execution(terms=terms):
            yield from terms
        case ways.GateFigure(term=term):
            yield term
        case ways.Unanswerable(nearest=nearest) if beside:
            yield from (entry.term for entry in nearest if isinstance(entry, ways.Quantity))


def _named(claim: Claim) -> Iterator[str]:
    """Other claims that the evaluations of a claim name."""
    for evaluation in evaluations_of(claim):
        match evaluation:
            case ways.Derived(numerator=first, denominator=second):
                yield from (first, second)
            case ways.Unanswerable(nearest=nearest):
                yield from (name for name in nearest if isinstance(name, str))
