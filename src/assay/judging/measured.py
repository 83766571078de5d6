"""The measured quantity behind a claim, whichever way it was measured, and what comes nearest.

Of a claim that must hold for several terms it is the worst term's: the least of their true values
(for "at most" and for times the largest). Its interval is put together from the terms' own, with no
assumption on how they depend on each other:

* the end on the **failing** side is the lowest of the terms' high ends, each taken at a level that
  is stricter by the number of terms: with eight terms at the claimed figure, one of eight intervals
  of 90 % lies wholly below it in three runs of ten, though the claim is true;
* the **other** end is the lowest of the terms' low ends at the declared level: it is wrong only
  when the low end of the truly worst term is.

So a claim is reproduced only when every term alone is (an intersection-union test), and fails when
one term fails even at the stricter level. docs/statistics.md has the levels that come of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.base.errors import BadInput
from assay.evidence.model import build_of
from assay.judging.benchmark import METRIC_UNIT, measure_term
from assay.judging.case import Case, Failure, Measured, not_run, once
from assay.judging.own_program import counted_otherwise, counts_of, own_program
from assay.judging.printed_figures import from_base
from assay.judging.program import measure_program, shape_matches
from assay.judging.what_ran import together
from assay.records import evaluations as ways
from assay.records.claims import Claim, Relation
from assay.records.evaluations import FlopFormula, NotRun, Quantity, Term
from assay.records.units import Unit, percent, quantity
from assay.records.verdicts import Nearest
from assay.records.workloads import Judging
from assay.shared.counting import counted
from assay.statistics.summaries import Summary, median_ms, time_ratio


@once
def measure_claim(case: Case, claim: Claim, target: str) -> Measured | Failure:
    """Return what was measured on ``target`` for a claim; of several terms, the worst."""
    own = own_program(case, claim, target)
    if isinstance(own, Measured):
        return own
    match claim.evaluation:
        case ways.Benchmark() as evaluation:
            return _measure_benchmark(case, claim, evaluation, target)
        case ways.Program() as evaluation:
            return _measure_stated(case, claim, evaluation, target)
        case ways.Derived() as evaluation:
            return _measure_derived(case, claim, evaluation, target)
        case ways.Unanswerable(reason=reason, detail=detail):
            return not_run(reason, detail)
    return not_run(NotRun.NOT_RECORDED, f"Claim {claim.id} is not answered by a measurement.")


def _measure_stated(
    case: Case, claim: Claim, evaluation: ways.Program, target: str
) -> Measured | Failure:
    asked = (evaluation.program, evaluation.figure, evaluation.stated.arguments)
    runs = measure_program(case, target, *asked, claim.counting)
    if isinstance(runs, Failure) or shape_matches(runs.shape, evaluation.stated.shape):
        return runs
    text = f"The program ran another problem than stated: {runs.ran}."
    return not_run(NotRun.RUN_FAILED, text, runs.evidence)


def _measure_benchmark(
    case: Case, claim: Claim, evaluation: ways.Benchmark, target: str
) -> Measured | Failure:
    if len(evaluation.terms) == 1:
        return measure_term(case, target, evaluation.metric, evaluation.terms[0], claim.counting)
    figures = [entry.figure for entry in measure_terms(case, claim, evaluation, target)]
    failure = next((figure for figure in figures if isinstance(figure, Failure)), None)
    measured = [figure for figure in figures if isinstance(figure, Measured)]
    return failure or worst_of(measured, lowest_is_worst(claim, evaluation))


@dataclass(frozen=True)
class TermFigure:
    """The figure measured for one term, with the interval that decides on it."""

    term: Term
    figure: Measured | Failure
    own: Summary | None = None
    """With its interval at the declared level; None where there is no figure."""
    wide: Summary | None = None
    """At the level that is stricter by the number of terms."""

    @property
    def name(self) -> str:
        """Return the term in words."""
        over = f" over {self.term.over}" if self.term.over else ""
        return f"{self.term.arm}{over} of {self.term.comparison}"


def lowest_is_worst(claim: Claim, evaluation: ways.Benchmark) -> bool:
    """Return which term is the worst: the lowest, but the longest time, and the highest of "at
    most".
    """
    if claim.relation.two_sided:
        return METRIC_UNIT[evaluation.metric] is not Unit.MS
    return claim.relation is Relation.AT_LEAST


def stricter(judging: Judging, terms: int) -> Judging:
    """Return the rules with the chance of a false interval shared out among ``terms``."""
    return judging.model_copy(update={"confidence": 1 - (1 - judging.confidence) / terms})


def for_decision(own: Summary, wide: Summary, lowest: bool) -> Summary:
    """Return a term's own interval with the failing end of ``wide``, its interval when stricter."""
    if lowest:
        return replace(own, high=max(own.high, wide.high))
    return replace(own, low=min(own.low, wide.low))


def bounds(deciding: Sequence[Summary], lowest: bool) -> Summary:
    """Return the worst figure, and the interval of the worst of all from ``for_decision``'s."""
    pick = min if lowest else max
    worst = pick(deciding, key=lambda summary: summary.estimate)
    return replace(
        worst,
        low=pick(summary.low for summary in deciding),
        high=pick(summary.high for summary in deciding),
    )


def measure_terms(
    case: Case, claim: Claim, evaluation: ways.Benchmark, target: str
) -> tuple[TermFigure, ...]:
    """Measure every term on one target; the intervals are those of ``for_decision``."""
    rules = stricter(case.catalog.judging, len(evaluation.terms))
    strict = replace(case, catalog=replace(case.catalog, judging=rules))
    lowest = lowest_is_worst(claim, evaluation)
    found: list[TermFigure] = []
    for term in evaluation.terms:
        own, wide = (
            measure_term(at, target, evaluation.metric, term, claim.counting)
            for at in (case, strict)
        )
        if isinstance(own, Failure) or isinstance(wide, Failure):
            found.append(TermFigure(term, own))
            continue
        figure = replace(own, summary=for_decision(own.summary, wide.summary, lowest))
        found.append(TermFigure(term, figure, own.summary, wide.summary))
    return tuple(found)


def worst_of(figures: Sequence[Measured], lowest: bool) -> Measured:
    """Return the worst term, with the interval of the worst of all and the evidence of all."""
    pick = min if lowest else max
    worst = pick(figures, key=lambda figure: figure.summary.estimate)
    paths = dict.fromkeys(path for figure in (worst, *figures) for path in figure.evidence)
    return replace(
        worst,
        summary=bounds([figure.summary for figure in figures], lowest),
        ran=f"the worst of {counted(len(figures), 'term')}: {worst.ran}",
        evidence=tuple(paths),
    )


def _measure_derived(
    case: Case, claim: Claim, evaluation: ways.Derived, target: str
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
            text = f"Needs claim {part.id}, which failed: {side.explanation}"
            return replace(side, explanation=text)
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
    notes, how = [note for side in sides for note in side.notes], [PAIRED]
    if paired is None:
        how = [*(modes_sentence(side.summary, side.unit) for side in sides), UNPAIRED]
    return Measured(
        summary=paired or top.summary.over(bottom.summary),
        unit=Unit.RATIO,
        code=together(side.code for side in sides),
        controlled=bool(controls),
        control=max(known, key=lambda c: max(abs(c.low), abs(c.high)))
        if known and len(known) == len(controls)
        else None,
        roofline_fraction=top.roofline_fraction,
        broken=top.broken or bottom.broken,
        binary_sha256=top.binary_sha256,
        gpu_uuid=top.gpu_uuid,
        ran=f"{top.ran}, over {bottom.ran}",
        notes=tuple(dict.fromkeys(filter(None, (*notes, *how)))),
        evidence=(*top.evidence, *bottom.evidence),
    )


def measure_part(
    case: Case, evaluation: ways.Derived, part: Claim, target: str
) -> Measured | Failure:
    """Return what one side of a derived figure gave: what its source's own program printed, where
    that is the reading that is meant.
    """
    if evaluation.under == ways.PRINTED:
        printed = counted_otherwise(case, case.catalog.claims[part.id], target)
        if printed is not None:
            return printed[1]
    return measure_claim(case, part, target)


def parts_of(case: Case, evaluation: ways.Derived) -> list[Claim]:
    """Return the two claims that a figure is derived from, under the reading and the count that
    are meant: beside what a source's own program printed, the one by which it runs and counts.
    """
    names = (evaluation.numerator, evaluation.denominator)
    claims = [case.catalog.claims[name] for name in names]
    under = evaluation.under
    if under == ways.PRINTED:
        under = next((name for each in claims if (name := counts_of(case, each))), None)
    parts = [part.read_as(under) for part in claims]
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
    terms = [
        each.evaluation.terms[0]
        for each in parts
        if isinstance(each.evaluation, ways.Benchmark) and len(each.evaluation.terms) == 1
    ]
    if len(terms) < 2 or any(term.over for term in terms):
        return None
    first, second = terms
    if first.comparison != second.comparison:
        return None
    record, judging = case.evidence.benchmarks[target, first.comparison], case.catalog.judging
    ratio = time_ratio(record, first.arm, second.arm, judging)  # ln(second ms / first ms)
    if ratio is None or top.unit is Unit.MS:
        return ratio and ratio.inverse()
    first_ms, second_ms = (median_ms(record, term.arm) for term in (first, second))
    if first_ms is None or second_ms is None:
        return None
    return ratio.scaled(top.summary.value() * first_ms / (bottom.summary.value() * second_ms))


def modes_sentence(summary: Summary, unit: Unit) -> str:
    """Say when a figure is between two groups of values, and where they lie; else say nothing."""
    if summary.modes is None:
        return ""
    first, second = (quantity(from_base(x, unit), unit) for x in summary.modes.values())
    share = percent(summary.modes.share)
    return f"Bimodal: {share} of the {summary.modes.of} lie near {first}, the others near {second}."


PAIRED = "Both sides ran in the same blocks, so their ratio is the paired one."
UNPAIRED = "Both sides were measured apart, so their uncertainties are added."


def nearest(case: Case, claim: Claim) -> tuple[Nearest, ...]:
    """Return what was measured that comes nearest to a claim, and is shown beside its verdict.

    For a claim that nothing can answer, what its author listed; beside a build, what ran; else
    other readings of the source. The same figure on other hardware is a verdict of its own.
    """
    given: tuple[Quantity, ...] = ()
    match claim.evaluation:
        case ways.Unanswerable(nearest=listed):
            return tuple(entry for each in listed for entry in _nearest(case, each))
        case ways.Support() | ways.Execution() | ways.Compiles() as evaluation:
            given = evaluation.nearest
        case ways.Benchmark() as evaluation:
            given = evaluation.alternatives
    found = (entry for each in given for entry in _nearest(case, each))
    return tuple(entry for entry in found if entry.measured is not None)


def _nearest(case: Case, of: Quantity | str) -> list[Nearest]:
    """Return a quantity, or that of a claim, on every measured target; without any, its name."""
    if isinstance(of, Quantity):
        term, metric = of.term, of.metric
        over = f" over {term.over}" if term.over else ""
        what = f"{metric.value.replace('_', ' ')} of {term.arm}{over} in {term.comparison}"
        unit: Unit | None = METRIC_UNIT[metric]
        found = {
            target: measure_term(case, target, metric, term, FlopFormula.NNZ)
            for target in case.measured_targets()
        }
    else:
        claim = case.catalog.claims[of]
        what, unit = claim.id, claim.unit
        if isinstance(claim.evaluation, ways.Support):
            what = f"{claim.id}: {_outcome(case, claim.evaluation)}"
        found = {
            target: measure_claim(case, claim, target)
            for target in case.measured_targets()
            if unit is not None
        }
    entries = []
    for target, measured in found.items():
        if unit and isinstance(measured, Measured) and measured.broken is None:
            value, ci90 = measured.told_in(unit)
            entries.append(
                Nearest(what=what, target=target, measured=value, unit=unit.value, ci90=ci90)
            )
    nothing = Nearest(what=what, target=None, measured=None, unit=None, ci90=None)
    return entries or [nothing]


def _outcome(case: Case, evaluation: ways.Support) -> str:
    """Return a probe's outcome in words: it has no figure."""
    build = build_of(case.evidence, evaluation.probe, evaluation.arch)
    words = {None: "was not compiled", "built": "compiles", "failed": "does not compile"}
    return f"{evaluation.probe} {words[build.status if build else None]} for {evaluation.arch}"
