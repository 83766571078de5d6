"""What claims need to be answered: other claims, comparisons, programs. Pure.

Every reading of a claim is measured by the same means as its primary one, so each counts here as an
evaluation of its own.
"""

from collections.abc import Iterable, Iterator

from assay.catalog.model import Catalog
from assay.judging.cutlass_output import job_id
from assay.records.claims import Claim
from assay.records.evaluations import (
    Accuracy,
    Benchmark,
    Completeness,
    Derived,
    Evaluation,
    Execution,
    Program,
    Quantity,
    Term,
    Unanswerable,
)
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
    given = [answer for answer in answers if answer.claim in catalog.claims]
    answered = [
        catalog.claims[answer.claim]
        for answer in given
        if answer.target == target and answer.way in ("measure", "recorded")
    ]
    shown = {
        answer.claim: catalog.claims[answer.claim]
        for answer in given
        if isinstance(catalog.claims[answer.claim].evaluation, Unanswerable)
    }
    beside = [
        claim
        for claim in shown.values()
        if not claim.hardware.targets or target in claim.hardware.targets
    ]
    return closure(catalog, [*answered, *beside])


def comparisons_of(catalog: Catalog, claims: Iterable[Claim]) -> list[str]:
    """Return the ids of the comparisons that the claims need, in catalog order."""
    named = {term.comparison for term in _all_terms(claims)}
    return [name for name in catalog.comparisons if name in named]


def programs_of(claims: Iterable[Claim]) -> list[ProgramJob]:
    """Return every (program, arguments) that a reading of a claim calls for, once each.

    The command as the source types it is one of its readings, where it runs another problem.
    """
    jobs: dict[str, ProgramJob] = {}
    for claim in claims:
        for evaluation in _evaluations(claim):
            if isinstance(evaluation, Program):
                program, arguments = evaluation.program, evaluation.stated.arguments
                job = job_id(program, arguments)
                jobs[job] = ProgramJob(id=job, program=program, arguments=arguments)
    return list(jobs.values())


def measured_together(catalog: Catalog, claims: Iterable[Claim]) -> list[set[str]]:
    """Return the comparisons and programs whose figures some claim divides by each other, by id.

    On two cards their ratio would tell of the cards.
    """
    derived = [
        evaluation
        for claim in claims
        for evaluation in _evaluations(claim)
        if isinstance(evaluation, Derived)
    ]
    return [tie for evaluation in derived if (tie := _units_below(catalog, evaluation))]


def _units_below(catalog: Catalog, evaluation: Evaluation) -> set[str]:
    """Return the comparisons and programs that a figure is read from."""
    match evaluation:
        case Derived(numerator=first, denominator=second, under=under):
            found = set[str]()
            for side in (catalog.claims[first], catalog.claims[second]):
                for each in _as_meant(side, under):
                    found |= _units_below(catalog, each)
            return found
        case Program(program=program):
            return {job_id(program, evaluation.stated.arguments)}
        case Benchmark(terms=terms):
            return {term.comparison for term in terms}
    return set()


def _as_meant(side: Claim, under: str | None) -> list[Evaluation]:
    """Return how one side of a derived figure is answered: by the reading that is meant; by any,
    where none is, for the figure then has the readings of its sides.
    """
    if under is None:
        return list(_evaluations(side))
    named = (reading.evaluation for reading in side.all_readings() if reading.id == under)
    return [next(named, side.evaluation)]


def primary_terms(claims: Iterable[Claim]) -> Iterator[Term]:
    """Yield the arms that claims rest on, or are shown beside, without those of other readings."""
    for claim in claims:
        yield from _terms(claim.evaluation)


def _all_terms(claims: Iterable[Claim]) -> Iterator[Term]:
    for claim in claims:
        for evaluation in _evaluations(claim):
            yield from _terms(evaluation)


def _evaluations(claim: Claim) -> Iterator[Evaluation]:
    """Yield the claim's own evaluation, then those of its other readings."""
    yield claim.evaluation
    yield from (reading.evaluation for reading in claim.all_readings())


def _terms(evaluation: Evaluation) -> Iterator[Term]:
    match evaluation:
        case Benchmark(terms=terms, alternatives=alternatives):
            yield from terms
            yield from (quantity.term for quantity in alternatives)
        case Execution(terms=terms):
            yield from terms
        case Accuracy(term=term) | Completeness(term=term):
            yield term
        case Unanswerable(nearest=nearest):
            yield from (entry.term for entry in nearest if isinstance(entry, Quantity))
        case _:
            pass


def _named(claim: Claim) -> Iterator[str]:
    """Other claims that the evaluations of a claim name."""
    for evaluation in _evaluations(claim):
        match evaluation:
            case Derived(numerator=first, denominator=second):
                yield from (first, second)
            case Unanswerable(nearest=nearest):
                yield from (name for name in nearest if isinstance(name, str))
            case _:
                pass
