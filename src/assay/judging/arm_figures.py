"""Published figures of arms that contradict each other: rates, times, bandwidths, and their ratios.
Pure.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from assay.catalog.model import Catalog
from assay.judging.audit import stands
from assay.judging.case import from_base
from assay.judging.claimed_launches import PER_BASE, Launches, claimed_ms, within_bound
from assay.judging.formulas import Uncounted
from assay.judging.printed_ranges import PrintedRange, evaluate, resolve
from assay.judging.verdicts import BOUNDS
from assay.records.arithmetic import Formula, Operand
from assay.records.claims import Claim, Relation
from assay.records.evaluations import Benchmark, Derived, Metric, Term
from assay.records.figure_words import quantity, short, with_unit
from assay.records.units import Unit

FiguresByArm = dict[tuple[str, str, str], list[Claim]]
"""Claims of one arm's rate, time or bandwidth, by source, comparison and arm."""


def figures_by_arm(catalog: Catalog) -> FiguresByArm:
    """Return the figures that each source states of each arm alone, bounds among them."""
    found: FiguresByArm = {}
    for claim in catalog.claims.values():
        match claim.evaluation:
            case Benchmark(terms=(term,)) if term.over is None and _is_figure(claim):
                key = catalog.source_of[claim.id], term.comparison, term.arm
                found.setdefault(key, []).append(claim)
    return found


def _is_figure(claim: Claim) -> bool:
    return bool(claim.value) and claim.relation is not Relation.SAME


def contradicting_figures(launches: Launches) -> Iterator[tuple[str, str]]:
    """Yield (claim, how it contradicts a figure before it) where a source states two figures of one
    arm, on one target and in one configuration, that are further apart than two runs.
    """
    for figures in figures_by_arm(launches.catalog).values():
        sound: list[Claim] = []
        for claim in figures:
            before = (says for first in sound for says in _contradiction(launches, first, claim))
            if (says := next(before, None)) is None:
                sound.append(claim)
            else:
                yield claim.id, says


def _contradiction(launches: Launches, first: Claim, second: Claim) -> Iterator[str]:
    """Yield that no launch takes a time that both figures leave open."""
    if not {*first.hardware.targets} & {*second.hardware.targets}:
        return
    if (first.configuration, first.software) != (second.configuration, second.software):
        return
    claims, unit = launches.catalog.claims, second.unit or Unit.MS
    for one, other in product(launches.of_claim(first), launches.of_claim(second)):
        time = claimed_ms(first, one, claims)
        opened = within_bound(second, claimed_ms(second, other, claims))
        if _of_runs(launches, within_bound(first, time)).meets(opened):
            continue
        rate = unit.base in PER_BASE
        given = other.counted * PER_BASE[unit.base] / time.value if rate else time.value
        by = (
            ""
            if unit is first.unit
            else f", by which it is {quantity(from_base(given, unit), unit)}"
        )
        stated = f"{_stated(second)} contradicts '{first.id}' ({_stated(first)})"
        yield f"{stated}, which is of the same arm{by}"


def _of_runs(launches: Launches, time: PrintedRange) -> PrintedRange:
    """Return the times that further runs may print of what took a time: on one GPU, as ratios."""
    margin = launches.catalog.judging.ratio_margin
    return PrintedRange(time.value, time.low * (1 - margin), time.high * (1 + margin))


def _stated(claim: Claim) -> str:
    """Return a claim's figure as its source prints it, a bound with its side."""
    return f"{with_unit(claim.as_printed, claim.unit)}{BOUNDS.get(claim.relation, '')}"


def other_ratio(launches: Launches, parts: FiguresByArm, claim: Claim) -> Iterator[str]:
    """Yield that none of the figures that a ratio is of gives it, where the source prints both."""
    found = list(_ratios(launches, parts, claim))
    if not found or claim.relation is Relation.SAME:
        return
    printed = resolve(Operand(claim=claim.id), launches.catalog.claims)
    if any(stands(ratio, printed, claim.relation) for ratio, _, _ in found):
        return
    ratio, *both = found[0]
    first, second = (f"'{each.id}' ({_stated(each)})" for each in both)
    given = with_unit(short(ratio.value), claim.unit) + _side(ratio)
    yield f"{_stated(claim)} is stated of {first} over {second}, and these two give {given}"


def _side(ratio: PrintedRange) -> str:
    """Return which side of its value a ratio of bounds may lie on, as words behind it."""
    if math.isinf(ratio.high):
        return BOUNDS[Relation.AT_LEAST]
    return "" if ratio.low else BOUNDS[Relation.AT_MOST]


def _ratios(
    launches: Launches, parts: FiguresByArm, claim: Claim
) -> Iterator[tuple[PrintedRange, Claim, Claim]]:
    """Yield every ratio, in the claim's unit, that two figures of its source give, and the two."""
    claims = launches.catalog.claims
    match claim.evaluation:
        case Derived(flops=None) as evaluation:
            both = claims[evaluation.numerator], claims[evaluation.denominator]
            if all(map(_is_figure, both)):
                values = [_left_open(each, claims) for each in both]
                yield evaluate(Formula(evaluation.formula), values), *both
        case Benchmark(metric=Metric.RATE_RATIO | Metric.TIME_RATIO as metric, terms=(term,)):
            source = launches.catalog.source_of[claim.id]
            top = parts.get((source, term.comparison, term.arm), ())
            bottom = parts.get((source, term.comparison, term.over or ""), ())
            for one, other in product(top, bottom):
                if claim.hardware.targets == one.hardware.targets == other.hardware.targets:
                    ratio = _ratio(launches, claim, metric, term, one, other)
                    if ratio is not None:
                        yield ratio, one, other


def _left_open(claim: Claim, claims: Mapping[str, Claim]) -> PrintedRange:
    """Return what a claim's figure may stand for: of a bound, all on its side."""
    printed = resolve(Operand(claim=claim.id), claims)
    if claim.relation is Relation.AT_LEAST:
        return replace(printed, high=math.inf)
    return replace(printed, low=0.0) if claim.relation is Relation.AT_MOST else printed


def _ratio(
    launches: Launches, claim: Claim, metric: Metric, term: Term, one: Claim, other: Claim
) -> PrintedRange | None:
    """Return how many times faster ``one`` is than ``other``, in the unit of the ratio."""
    claims = launches.catalog.claims
    times = [
        within_bound(each, claimed_ms(each, launch, claims))
        for each in (other, one)
        for launch in launches.of_claim(each)
    ]
    if len(times) < 2:
        return None
    factor = 1.0
    if metric is Metric.RATE_RATIO:
        try:
            counted = [
                launches.counted_by(term, arm, claim.counting)
                for arm in (term.arm, term.over or "")
            ]
        except Uncounted:
            return None
        factor = counted[0] / counted[1]
    quotient = evaluate(Formula.QUOTIENT, times)
    unit = claim.unit or Unit.RATIO
    ends = (from_base(factor * end, unit) for end in (quotient.value, quotient.low, quotient.high))
    return PrintedRange(*ends)
