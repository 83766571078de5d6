"""The measured quantity behind a claim, whichever way it was measured, and what comes nearest."""

from dataclasses import replace

from assay.errors import BadInput
from assay.judging.base import (
    Case,
    Failure,
    Measured,
    from_base,
    not_run,
    significant,
)
from assay.judging.benchmark import METRIC_UNIT, measure_term
from assay.judging.program import measure_program, shape_matches
from assay.records.claims import (
    Benchmark,
    Claim,
    Derived,
    FlopFormula,
    NotRun,
    Program,
    Quantity,
    Support,
    Unanswerable,
    Unit,
)
from assay.records.verdicts import Nearest


def measure_claim(case: Case, claim: Claim, target: str) -> Measured | Failure:
    """What was measured on ``target`` for a claim; of several terms, the lowest rate."""
    evaluation = claim.evaluation
    match evaluation:
        case Benchmark():
            terms = [
                measure_term(case, target, evaluation.metric, term, claim.flop_formula)
                for term in evaluation.terms
            ]
            return _worst(terms)
        case Program():
            arguments = evaluation.stated.arguments
            runs = measure_program(case, target, evaluation, arguments, claim.flop_formula)
            if isinstance(runs, Failure):
                return runs
            if not shape_matches(runs.shape, evaluation.stated.shape):
                text = f"The program ran another problem than stated: {runs.measured.ran}."
                return not_run(NotRun.RUN_FAILED, text, runs.measured.evidence)
            return runs.measured
        case Derived():
            return measure_derived(case, claim, evaluation, target)
    text = f"Claim {claim.id} is not answered by a measurement."
    return not_run(NotRun.NOT_RECORDED, text)


def _worst(terms: list[Measured | Failure]) -> Measured | Failure:
    measured: list[Measured] = []
    for term in terms:
        if isinstance(term, Failure):
            return term
        measured.append(term)
    slow_is_high = measured[0].unit is Unit.MS
    sign = -1.0 if slow_is_high else 1.0
    return min(measured, key=lambda entry: sign * entry.summary.estimate)


def measure_derived(
    case: Case, claim: Claim, evaluation: Derived, target: str
) -> Measured | Failure:
    """Quotient of two claims' measured values on one target, by interval arithmetic.

    The two were not measured in paired blocks, so their errors are added: conservative. Raises
    BadInput where the two are not of one dimension.
    """
    sides: list[Measured] = []
    for name in (evaluation.numerator, evaluation.denominator):
        side = measure_claim(case, case.catalog.claims[name], target)
        if isinstance(side, Failure):
            return replace(
                side, explanation=f"Needs claim {name}, which failed: {side.explanation}"
            )
        sides.append(side)
    top, bottom = sides
    if top.unit is not bottom.unit:
        raise BadInput(
            f"claim '{claim.id}': '{evaluation.numerator}' is measured in {top.unit.value}, "
            f"'{evaluation.denominator}' in {bottom.unit.value}"
        )
    if top.gpu_uuid != bottom.gpu_uuid:
        text = "The two sides were measured on different GPUs."
        return not_run(NotRun.RUN_FAILED, text, (*top.evidence, *bottom.evidence))
    floors = [side.noise_floor for side in sides if side.controlled]
    known = [floor for floor in floors if floor is not None]
    rebuilt = [side for side in sides if side.artifact == "reimplemented"]
    return Measured(
        summary=top.summary.over(bottom.summary),
        unit=Unit.RATIO,
        artifact="reimplemented" if rebuilt else "original",
        controlled=bool(floors),
        noise_floor=max(known) if known and len(known) == len(floors) else None,
        roofline_fraction=top.roofline_fraction,
        broken=top.broken or bottom.broken,
        limit=None,
        binary_sha256=top.binary_sha256,
        gpu_uuid=top.gpu_uuid,
        ran=f"{top.ran}, over {bottom.ran}",
        built_from=_built_from(rebuilt),
        notes=tuple(dict.fromkeys((*top.notes, *bottom.notes, _UNPAIRED))),
        evidence=(*top.evidence, *bottom.evidence),
    )


_UNPAIRED = "Both sides were measured apart, so their uncertainties are added."


def _built_from(sides: list[Measured]) -> str | None:
    texts = dict.fromkeys(side.built_from for side in sides if side.built_from)
    return "; ".join(texts) or None


def nearest(case: Case, claim: Claim, target: str | None) -> tuple[Nearest, ...]:
    """What was measured that comes nearest to a claim without an answer of its own.

    For a claim that nothing can answer, what its author listed; for a claim about hardware that is
    not here, the same evaluation on the hardware that is.
    """
    evaluation = claim.evaluation
    if isinstance(evaluation, Unanswerable):
        entries = [
            entry
            for item in evaluation.nearest
            for entry in (
                _nearest_quantity(case, item)
                if isinstance(item, Quantity)
                else _nearest_claim(case, case.catalog.claims[item], None)
            )
        ]
        return tuple(entries)
    if isinstance(evaluation, Benchmark | Program | Derived):
        found = _nearest_claim(case, claim, target)
        elsewhere = tuple(entry for entry in found if entry.measured is not None)
        return (*elsewhere, *alternatives(case, claim))
    return ()


def alternatives(case: Case, claim: Claim) -> tuple[Nearest, ...]:
    """Other readings of the source, measured too and shown beside the verdict."""
    evaluation = claim.evaluation
    if not isinstance(evaluation, Benchmark):
        return ()
    return tuple(
        entry
        for quantity in evaluation.alternatives
        for entry in _nearest_quantity(case, quantity)
        if entry.measured is not None
    )


def _nearest_claim(case: Case, claim: Claim, but: str | None) -> list[Nearest]:
    """A claim's quantity on every measured target but one; without any, its name alone."""
    if isinstance(claim.evaluation, Support):
        return [_nearest_support(case, claim.id, claim.evaluation)]
    entries: list[Nearest] = []
    for target in case.measured_targets():
        if target == but or claim.unit is None:
            continue
        measured = measure_claim(case, claim, target)
        if isinstance(measured, Measured) and measured.broken is None:
            entries.append(_entry(claim.id, target, measured, claim.unit))
    return entries or [Nearest(what=claim.id, target=None, measured=None, unit=None, ci90=None)]


def _nearest_support(case: Case, claim: str, evaluation: Support) -> Nearest:
    """A probe's outcome, in words: it has no figure."""
    build = case.evidence.builds.get((evaluation.probe, evaluation.arch))
    outcome = {None: "was not compiled", "built": "compiles", "failed": "does not compile"}[
        build.status if build else None
    ]
    what = f"{claim}: {evaluation.probe} {outcome} for {evaluation.arch}"
    return Nearest(what=what, target=None, measured=None, unit=None, ci90=None)


def _nearest_quantity(case: Case, quantity: Quantity) -> list[Nearest]:
    term, metric = quantity.term, quantity.metric
    name = metric.value.replace("_", " ")
    what = f"{name} of {term.arm}" + (f" over {term.over}" if term.over else "")
    what = f"{what} in {term.comparison}"
    entries: list[Nearest] = []
    for target in case.measured_targets():
        measured = measure_term(case, target, metric, term, FlopFormula.NNZ)
        if isinstance(measured, Measured) and measured.broken is None:
            entries.append(_entry(what, target, measured, METRIC_UNIT[metric]))
    return entries or [Nearest(what=what, target=None, measured=None, unit=None, ci90=None)]


def _entry(what: str, target: str, measured: Measured, unit: Unit) -> Nearest:
    low, high = (significant(from_base(x, unit)) for x in measured.summary.interval())
    value = significant(from_base(measured.summary.value(), unit))
    return Nearest(what=what, target=target, measured=value, unit=unit.value, ci90=(low, high))
