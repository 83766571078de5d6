"""What the answers of claims name exists, and may stand where it does."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from assay.base.errors import BadInput
from assay.base.yaml_problems import suggest
from assay.catalog.model import Catalog
from assay.records.arithmetic import Operand
from assay.records.claims import Claim
from assay.records.evaluations import (
    PRINTED,
    Accuracy,
    Arithmetic,
    Benchmark,
    Compiles,
    Completeness,
    Derived,
    DeviceCode,
    Evaluation,
    Execution,
    Metric,
    Program,
    Quantity,
    Support,
    Term,
    Unanswerable,
)
from assay.records.units import Unit
from assay.records.workloads import Arm, Operation, Workload
from assay.shared.expressions import parse
from assay.shared.formula_names import names_of_operation, names_of_program

T = TypeVar("T")

FORMED = {"quotient": Unit.RATIO, "percent_gain": Unit.PERCENT}
"""Unit of what a formula makes of two figures."""


def check_claim(catalog: Catalog, where: str, claim: Claim, *, reading: bool = False) -> None:
    """Check what a claim's answer names, its formulas and its unit; ``reading``: whether it is
    meant under a reading, which may rest on arms that are timed for readings alone.

    Raises BadInput.
    """
    _check_evaluation(catalog, where, claim.evaluation, reading=reading)
    if claim.flops is not None:
        _check_names(claim.flops, where, _names_of_rates(catalog, where, claim.evaluation))
    if claim.bytes is not None:
        _check_names(claim.bytes, where, _names_of_bandwidths(catalog, where, claim.evaluation))
    if isinstance(claim.evaluation, Derived):
        _check_formed(catalog, where, claim, claim.evaluation)


def _check_evaluation(
    catalog: Catalog, where: str, evaluation: Evaluation, *, reading: bool
) -> None:
    for term in _terms(evaluation):
        done = reading or isinstance(evaluation, Completeness)
        _check_term(catalog, where, term, reading=done)
    match evaluation:
        case Arithmetic(operands=operands):
            check_operands(catalog, where, operands)
        case Program(program=program):
            require_known(where, "program", program, catalog.programs)
        case Derived():
            _check_derived(catalog, where, evaluation)
        case DeviceCode(rival=rival):
            require_known(where, "rival", rival, catalog.rivals)
        case Support(probe=probe):
            require_known(where, "probe", probe, {**catalog.probes, **catalog.programs})
        case Unanswerable(nearest=nearest):
            for name in nearest:
                if isinstance(name, str):
                    require_known(where, "claim", name, catalog.claims)


def _terms(evaluation: Evaluation) -> list[Term]:
    """Return the terms that an evaluation rests on or is shown beside."""
    match evaluation:
        case Benchmark(terms=terms, alternatives=beside) | Execution(terms=terms, nearest=beside):
            return [*terms, *(each.term for each in beside)]
        case Accuracy(term=term) | Completeness(term=term):
            return [term]
        case Support(nearest=beside) | Compiles(nearest=beside):
            return [each.term for each in beside]
        case Unanswerable(nearest=beside):
            return [each.term for each in beside if isinstance(each, Quantity)]
    return []


def _check_derived(catalog: Catalog, where: str, evaluation: Derived) -> None:
    """Check that both parts exist, are measured themselves, and that one has the reading meant."""
    names = (evaluation.numerator, evaluation.denominator)
    for name in names:
        require_known(where, "claim", name, catalog.claims)
        if isinstance(catalog.claims[name].evaluation, Derived):
            raise BadInput(f"{where}: is derived from '{name}', which is itself derived")
    readings = {r.id for name in names for r in catalog.claims[name].all_readings()}
    if any(catalog.sources[catalog.source_of[name]].program_of(name) for name in names):
        readings.add(PRINTED)
    if evaluation.under is not None and evaluation.under not in readings:
        raise BadInput(f"{where}: neither part has a reading '{evaluation.under}'")
    if evaluation.flops is not None:
        for name in names:
            counted = _names_of_rates(catalog, where, catalog.claims[name].evaluation)
            _check_names(evaluation.flops, where, counted)


def _check_formed(catalog: Catalog, where: str, claim: Claim, evaluation: Derived) -> None:
    """Check that a figure formed of two others is in its formula's unit, and that something can be
    formed of them.
    """
    unit = FORMED[evaluation.formula]
    if claim.unit is not unit:
        typed = claim.unit.typed if claim.unit else "no unit"
        told = ", ".join(f"{formula} gives {each.typed}" for formula, each in FORMED.items())
        raise BadInput(f"{where}: is in {typed}: {told}")
    parts = [catalog.claims[name] for name in (evaluation.numerator, evaluation.denominator)]
    for part in parts:
        if part.unit is None or part.unit.facts.base is None:
            raise BadInput(f"{where}: '{part.id}' has no rate, time or ratio to form a figure of")
    top, bottom = (part.unit for part in parts)
    if top and bottom and top.base is not bottom.base:
        raise BadInput(
            f"{where}: '{parts[0].id}' is in {top.typed} and '{parts[1].id}' in {bottom.typed}: "
            "no figure is formed of the two"
        )


def _check_names(formula: str, where: str, problems: Iterable[tuple[str, frozenset[str]]]) -> None:
    for what, known in problems:
        for name in sorted(parse(formula).names - known):
            raise BadInput(
                f"{where}: '{formula}' names '{name}', which {what} does not have; known: "
                f"{', '.join(sorted(known))}"
            )


def _names_of_rates(
    catalog: Catalog, where: str, evaluation: Evaluation
) -> Iterable[tuple[str, frozenset[str]]]:
    """Yield what a formula may name of each problem that an evaluation measures, with its name."""
    match evaluation:
        case Benchmark(metric=Metric.RATE | Metric.RATE_RATIO, terms=terms):
            yield from _names_of_terms(catalog, terms)
        case Program(program=program):
            yield program, names_of_program(catalog.programs[program].parser)
        case _:
            raise BadInput(f"{where}: a formula for FLOPs (flops) is of a measured rate")


def _names_of_bandwidths(
    catalog: Catalog, where: str, evaluation: Evaluation
) -> Iterable[tuple[str, frozenset[str]]]:
    if not isinstance(evaluation, Benchmark) or evaluation.metric is not Metric.BANDWIDTH:
        raise BadInput(f"{where}: a formula for bytes (bytes) is of a measured bandwidth")
    yield from _names_of_terms(catalog, evaluation.terms)


def _names_of_terms(
    catalog: Catalog, terms: Iterable[Term]
) -> Iterable[tuple[str, frozenset[str]]]:
    for term in terms:
        for arm in catalog.comparisons[term.comparison].arms:
            if arm.id in (term.arm, term.over):
                workload = catalog.workloads[arm.workload]
                yield workload.operation.value, names_of_problem(workload)


def names_of_problem(workload: Workload) -> frozenset[str]:
    """Return what a formula may name of a problem: of a project's function its own parameters."""
    if workload.operation is Operation.CALLABLE:
        return frozenset(workload.numbers)
    return names_of_operation(workload.operation.value)


def _check_term(catalog: Catalog, where: str, term: Term, *, reading: bool = False) -> None:
    """Arms exist; one that is timed for readings only answers none but a reading.

    Nor is anything held against it, but another of its kind: a quotient of two stages of a program
    that is wrong in both.
    """
    arm = arm_of(catalog, where, term.comparison, term.arm)
    over = None if term.over is None else arm_of(catalog, where, term.comparison, term.over)
    if arm.reading_only and not reading:
        raise BadInput(
            f"{where}: rests on arm '{term.arm}' of '{term.comparison}', which is timed for "
            "readings only"
        )
    if over is not None and over.reading_only and not arm.reading_only:
        raise BadInput(
            f"{where}: holds '{term.arm}' against arm '{term.over}' of '{term.comparison}', which "
            "is timed for readings only"
        )


def check_operands(catalog: Catalog, where: str, operands: Iterable[Operand]) -> None:
    """Check that claims named carry a value; they, and places, may be those of other sources."""
    for operand in (part for whole in operands for part in whole.parts()):
        if operand.place is not None and operand.place.source is not None:
            require_known(where, "source", operand.place.source, catalog.sources)
        if operand.claim is None:
            continue
        require_known(where, "claim", operand.claim, catalog.claims)
        if catalog.claims[operand.claim].value is None:
            raise BadInput(f"{where}: '{operand.claim}' carries no value to compute with")


def require_known(where: str, noun: str, name: str, known: Mapping[str, T]) -> None:
    """Raise BadInput for a name that names nothing."""
    if name not in known:
        raise BadInput(f"{where}: there is no {noun} '{name}'{suggest(name, known)}")


def arm_of(catalog: Catalog, where: str, comparison: str, name: str) -> Arm:
    """Return an arm of a comparison. Raises BadInput where there is no such."""
    require_known(where, "comparison", comparison, catalog.comparisons)
    arms = {arm.id: arm for arm in catalog.comparisons[comparison].arms}
    require_known(where, f"arm of '{comparison}'", name, arms)
    return arms[name]
