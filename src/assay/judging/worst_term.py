"""A claim that must hold for the worst of several terms: the worst term's bounds. Pure.

The quantity is the least (for "at most" and for times: the largest) of the terms' true values. Its
interval is put together from the terms' own, with no assumption on how they depend on each other:

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

from assay.judging.benchmark import METRIC_UNIT, measure_term
from assay.judging.case import Case, Failure, Measured
from assay.records.claims import Claim, Relation
from assay.records.evaluations import Benchmark
from assay.records.units import Unit
from assay.records.workloads import Judging
from assay.shared.counting import counted
from assay.statistics.summaries import Summary


@dataclass(frozen=True)
class TermFigure:
    """The figure measured for one term, with the interval that decides on it."""

    name: str
    figure: Measured | Failure
    own: Summary | None = None
    """With its interval at the declared level; None where there is no figure."""
    wide: Summary | None = None
    """At the level that is stricter by the number of terms."""


def lowest_is_worst(claim: Claim, evaluation: Benchmark) -> bool:
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
    case: Case, claim: Claim, evaluation: Benchmark, target: str
) -> tuple[TermFigure, ...]:
    """Measure every term on one target; the intervals are those of ``for_decision``."""
    rules = stricter(case.catalog.judging, len(evaluation.terms))
    strict = replace(case, catalog=replace(case.catalog, judging=rules))
    lowest = lowest_is_worst(claim, evaluation)
    found: list[TermFigure] = []
    for term in evaluation.terms:
        over = f" over {term.over}" if term.over else ""
        name = f"{term.arm}{over} of {term.comparison}"
        own = measure_term(case, target, evaluation.metric, term, claim.counting)
        wide = measure_term(strict, target, evaluation.metric, term, claim.counting)
        if isinstance(own, Failure) or isinstance(wide, Failure):
            found.append(TermFigure(name, own))
            continue
        deciding = for_decision(own.summary, wide.summary, lowest)
        figure = replace(own, summary=deciding)
        found.append(TermFigure(name, figure, own.summary, wide.summary))
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
