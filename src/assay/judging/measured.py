"""The measured quantity behind a claim, whichever way it was measured, and what comes nearest."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.base.errors import BadInput
from assay.evidence.model import build_of
from assay.judging.benchmark import METRIC_UNIT, measure_term
from assay.judging.case import Case, Failure, Measured, not_run, significant
from assay.judging.own_program import counted_otherwise, counts_of, own_program
from assay.judging.printed_figures import from_base
from assay.judging.program import measure_program, shape_matches
from assay.judging.what_ran import together
from assay.judging.worst_term import lowest_is_worst, measure_terms, worst_of
from assay.records.claims import Claim
from assay.records.evaluations import (
    PRINTED,
    Benchmark,
    Compiles,
    Derived,
    Execution,
    FlopFormula,
    NotRun,
    Program,
    Quantity,
    Support,
    Term,
    Unanswerable,
)
from assay.records.units import Unit, percent, quantity
from assay.records.verdicts import Nearest
from assay.statistics.summaries import Summary


def measure_claim(case: Case, claim: Claim, target: str) -> Measured | Failure:
    """Return what was measured on ``target`` for a claim; of several terms, the worst."""
    own = own_program(case, claim, target)
    return own if isinstance(own, Measured) else _measured_here(case, claim, target)


def _measured_here(case: Case, claim: Claim, target: str) -> Measured | Failure:
    """Return what this repository measured for it, whatever its source's own program printed."""
    evaluation = claim.evaluation
    match evaluation:
        case Benchmark():
            return _measure_benchmark(case, claim, evaluation, target)
        case Program():
            arguments = evaluation.stated.arguments
            runs = measure_program(case, target, evaluation, arguments, claim.counting)
            if isinstance(runs, Failure):
                return runs
            if not shape_matches(runs.shape, evaluation.stated.shape):
                text = f"The program ran another problem than stated: {runs.measured.ran}."
                return not_run(NotRun.RUN_FAILED, text, runs.measured.evidence)
            return runs.measured
        case Derived():
            return measure_derived(case, claim, evaluation, target)
    reason, text = NotRun.NOT_RECORDED, f"Claim {claim.id} is not answered by a measurement."
    if isinstance(evaluation, Unanswerable):
        reason, text = evaluation.reason, evaluation.detail
    return not_run(reason, text)


def _measure_benchmark(
    case: Case, claim: Claim, evaluation: Benchmark, target: str
) -> Measured | Failure:
    if len(evaluation.terms) == 1:
        return measure_term(case, target, evaluation.metric, evaluation.terms[0], claim.counting)
    figures = [entry.figure for entry in measure_terms(case, claim, evaluation, target)]
    failure = next((figure for figure in figures if isinstance(figure, Failure)), None)
    measured = [figure for figure in figures if isinstance(figure, Measured)]
    return failure or worst_of(measured, lowest_is_worst(claim, evaluation))


def measure_derived(
    case: Case, claim: Claim, evaluation: Derived, target: str
) -> Measured | Failure:
    """Return the quotient of two claims' measured values on one target.

    Two arms of one comparison ran in the same blocks: their ratio is the paired one. Anything else
    was measured apart, and its errors are added by interval arithmetic: conservative. Raises
    BadInput where the two are not of one dimension.
    """
    parts = parts_of(case, evaluation)
    sides: list[Measured] = []
    for part in parts:
        side = measure_part(case, evaluation, part, target)
        if isinstance(side, Failure):
            return replace(
                side, explanation=f"Needs claim {part.id}, which failed: {side.explanation}"
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
    controls = [side.control for side in sides if side.controlled]
    known = [control for control in controls if control is not None]
    same_means = all(side.controlled for side in sides)  # no figure that a program printed
    paired = _paired(case, parts, target, top, bottom) if same_means else None
    ran = together(sides)
    return Measured(
        summary=paired or top.summary.over(bottom.summary),
        unit=Unit.RATIO,
        artifact=ran.artifact,
        controlled=bool(controls),
        control=max(known, key=lambda c: max(abs(c.low), abs(c.high)))
        if known and len(known) == len(controls)
        else None,
        roofline_fraction=top.roofline_fraction,
        broken=top.broken or bottom.broken,
        binary_sha256=top.binary_sha256,
        gpu_uuid=top.gpu_uuid,
        ran=f"{top.ran}, over {bottom.ran}",
        built_from=ran.made_from,
        packages=ran.packages,
        notes=tuple(dict.fromkeys(_side_notes(sides, paired is None))),
        evidence=(*top.evidence, *bottom.evidence),
    )


def measure_part(case: Case, evaluation: Derived, part: Claim, target: str) -> Measured | Failure:
    """Return what one side of a derived figure gave: what its source's own program printed, where
    that is the reading that is meant.
    """
    if evaluation.under == PRINTED:
        printed = counted_otherwise(case, case.catalog.claims[part.id], target)
        if printed is not None:
            return printed[1]
    return measure_claim(case, part, target)


def parts_of(case: Case, evaluation: Derived) -> list[Claim]:
    """Return the two claims that a figure is derived from, under the reading and the count that
    are meant: beside what a source's own program printed, the one by which it runs and counts.
    """
    names = (evaluation.numerator, evaluation.denominator)
    claims = [case.catalog.claims[name] for name in names]
    under = evaluation.under
    if under == PRINTED:
        under = next((name for each in claims if (name := counts_of(case, each))), None)
    parts = [
        next((part.under(r) for r in part.all_readings() if r.id == under), part) for part in claims
    ]
    if evaluation.flops is None:
        return parts
    return [part.model_copy(update={"flops": evaluation.flops}) for part in parts]


def _paired(
    case: Case, parts: Sequence[Claim], target: str, top: Measured, bottom: Measured
) -> Summary | None:
    """Top over bottom from paired blocks, where both are rates, or times, of one comparison.

    Each side keeps its own way of counting: the paired ratio of times is moved by the constant
    that lies between the two sides' times and their values.
    """
    first, second = (_only_term(part) for part in parts)
    if first is None or second is None or first.comparison != second.comparison:
        return None
    record = first.comparison
    ratio = case.time_ratio(target, record, first.arm, second.arm)  # ln(second ms / first ms)
    if ratio is None or top.unit is Unit.MS:
        return ratio and ratio.inverse()
    first_ms, second_ms = (case.median_ms(target, record, term.arm) for term in (first, second))
    if first_ms is None or second_ms is None:
        return None
    return ratio.scaled(top.summary.value() * first_ms / (bottom.summary.value() * second_ms))


def _only_term(claim: Claim) -> Term | None:
    """The one arm that a claim's benchmark reads, without a baseline."""
    evaluation = claim.evaluation
    if not isinstance(evaluation, Benchmark) or len(evaluation.terms) > 1:
        return None
    return None if evaluation.terms[0].over else evaluation.terms[0]


def _side_notes(sides: list[Measured], apart: bool) -> list[str]:
    notes = [note for side in sides for note in side.notes]
    if not apart:
        return [*notes, _PAIRED]
    modes = [modes_sentence(side.summary, side.unit) for side in sides]
    return [*notes, *(sentence for sentence in modes if sentence), _UNPAIRED]


def modes_sentence(summary: Summary, unit: Unit) -> str:
    """Say when a figure is between two groups of values, and where they lie; else say nothing."""
    if summary.modes is None:
        return ""
    first, second = (quantity(from_base(x, unit), unit) for x in summary.modes.values())
    share = percent(summary.modes.share)
    return f"Bimodal: {share} of the {summary.modes.of} lie near {first}, the others near {second}."


_PAIRED = "Both sides ran in the same blocks, so their ratio is the paired one."
_UNPAIRED = "Both sides were measured apart, so their uncertainties are added."


def nearest(case: Case, claim: Claim) -> tuple[Nearest, ...]:
    """Return what was measured that comes nearest to a claim without an answer of its own.

    For a claim that nothing can answer, what its author listed; beside a build, what ran; else what
    its author listed beside its own evaluation. The same figure on other hardware is a verdict of
    its own.
    """
    evaluation = claim.evaluation
    if isinstance(evaluation, Unanswerable):
        found = (
            _nearest_quantity(case, each)
            if isinstance(each, Quantity)
            else _nearest_claim(case, case.catalog.claims[each])
            for each in evaluation.nearest
        )
        return tuple(entry for entries in found for entry in entries)
    if isinstance(evaluation, Support | Execution | Compiles):
        return _measured_quantities(case, evaluation.nearest)
    return alternatives(case, claim)


def alternatives(case: Case, claim: Claim) -> tuple[Nearest, ...]:
    """Return other readings of the source, measured too and shown beside the verdict."""
    evaluation = claim.evaluation
    given = evaluation.alternatives if isinstance(evaluation, Benchmark) else ()
    return _measured_quantities(case, given)


def _measured_quantities(case: Case, quantities: Iterable[Quantity]) -> tuple[Nearest, ...]:
    found = (_nearest_quantity(case, quantity) for quantity in quantities)
    return tuple(entry for entries in found for entry in entries if entry.measured is not None)


def _nearest_claim(case: Case, claim: Claim) -> list[Nearest]:
    """A claim's quantity on every measured target; without any, its name alone."""
    if isinstance(claim.evaluation, Support):
        return [_nearest_support(case, claim.id, claim.evaluation)]
    entries: list[Nearest] = []
    for target in case.measured_targets():
        if claim.unit is None:
            continue
        measured = measure_claim(case, claim, target)
        if isinstance(measured, Measured) and measured.broken is None:
            entries.append(_entry(claim.id, target, measured, claim.unit))
    return entries or [_unmeasured(claim.id)]


def _nearest_support(case: Case, claim: str, evaluation: Support) -> Nearest:
    """A probe's outcome, in words: it has no figure."""
    build = build_of(case.evidence, evaluation.probe, evaluation.arch)
    outcome = {None: "was not compiled", "built": "compiles", "failed": "does not compile"}[
        build.status if build else None
    ]
    return _unmeasured(f"{claim}: {evaluation.probe} {outcome} for {evaluation.arch}")


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
    return entries or [_unmeasured(what)]


def _unmeasured(what: str) -> Nearest:
    return Nearest(what=what, target=None, measured=None, unit=None, ci90=None)


def _entry(what: str, target: str, measured: Measured, unit: Unit) -> Nearest:
    low, high = (significant(from_base(x, unit)) for x in measured.summary.interval())
    value = significant(from_base(measured.summary.value(), unit))
    return Nearest(what=what, target=target, measured=value, unit=unit.value, ci90=(low, high))
