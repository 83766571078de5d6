"""What claims state of one launch, by arithmetic alone, and where figures of one arm contradict.

Pure.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import product

from assay.catalog.model import Catalog
from assay.judging.cutlass_output import DTYPES, figure_unit, printed_flop
from assay.judging.formulas import Counting, Uncounted, for_benchmark, for_program, for_traffic
from assay.judging.printed_figures import BOUNDS, PrintedRange, evaluate, from_base, resolve, stands
from assay.records.arithmetic import Formula, Operand
from assay.records.claims import Claim, Relation
from assay.records.evaluations import Benchmark, Derived, FlopFormula, Metric, Program, Term
from assay.records.measurements import ArmFacts
from assay.records.units import Unit, quantity, short, with_unit
from assay.records.workload_specs import workload_spec
from assay.records.workloads import Workload
from assay.shared.launch_facts import launch_facts
from assay.shared.stored_blocks import workload_blocks
from assay.statistics.roofline import Dtype

MOST_HELD = 8
"""Figures of one arm that a ratio is held against."""
OF_ONE_LAUNCH = (Metric.RATE, Metric.TIME, Metric.BANDWIDTH)


@dataclass(frozen=True)
class Launch:
    """One launch that a claim speaks of."""

    flop: float
    """That it really does."""
    bytes: float
    """That it moves at least; 0 where nothing states them."""
    dtype: Dtype
    counted: float
    """What the claim's figure counts of it: FLOP of a rate, bytes of a bandwidth, else 1."""


@dataclass
class Launches:
    """The launches of a catalog's claims; facts of each problem are computed once."""

    catalog: Catalog
    _facts: dict[str, ArmFacts] = field(default_factory=dict)

    def of_claim(self, claim: Claim) -> list[Launch]:
        """Return what a claim's rate, time or bandwidth speaks of, a launch for each of its terms;
        none where it is no such figure, or nothing states its problem.
        """
        try:
            match claim.evaluation:
                case Benchmark(metric=metric, terms=terms) if metric in OF_ONE_LAUNCH:
                    return [self._of_term(metric, term, claim.counting) for term in terms]
                case Program() as evaluation:
                    return [self._of_program(evaluation, claim.counting)]
        except Uncounted:
            pass
        return []

    def counted_by(self, term: Term, arm: str, counting: Counting) -> float:
        """Return the FLOP of an arm as a claim counts them. Raises Uncounted."""
        facts, workload = self._arm(term.comparison, arm)
        return facts.flop * for_benchmark(counting, facts, workload).factor

    def _of_term(self, metric: Metric, term: Term, counting: Counting) -> Launch:
        facts, workload = self._arm(term.comparison, term.arm)
        counted = 1.0
        if metric is Metric.RATE:
            counted = self.counted_by(term, term.arm, counting)
        elif metric is Metric.BANDWIDTH:
            counted = facts.bytes * for_traffic(counting, facts, workload).factor
        return Launch(facts.flop, facts.bytes, workload.dtype, counted)

    def _of_program(self, evaluation: Program, counting: Counting) -> Launch:
        parser = self.catalog.programs[evaluation.program].parser
        shape, arguments = evaluation.stated.shape, evaluation.stated.arguments
        try:
            printed = printed_flop(parser, shape, arguments)
        except KeyError:
            printed = None
        if printed is None:
            raise Uncounted("the source leaves a size unsaid")
        done, counted = float(printed), 1.0
        if figure_unit(evaluation.figure) is not Unit.MS:
            counted = printed * for_program(counting, parser, shape, arguments).factor
        if parser == "cutlass_41":
            done *= for_program(FlopFormula.NNZ, parser, shape, arguments).factor
        return Launch(done, 0.0, DTYPES[parser], counted)

    def _arm(self, comparison: str, name: str) -> tuple[ArmFacts, Workload]:
        arm = self.catalog.comparisons[comparison].arm(name)
        workload = self.catalog.workloads[arm.workload]
        if arm.workload not in self._facts:
            spec = workload_spec(workload)
            facts = asdict(launch_facts(spec, *workload_blocks(spec, spec.seed)))
            facts |= {"arm": arm.id, "variant": arm.variant, "workload": arm.workload}
            self._facts[arm.workload] = ArmFacts(binary_sha256=None, warmup_ms=0.0, **facts)
        return self._facts[arm.workload], workload


PER_BASE = {Unit.TFLOP_PER_S: 1e-9, Unit.GB_PER_S: 1e-6}
"""From what a rate or a bandwidth counts, over one base unit of it, to ms."""


def claimed_ms(claim: Claim, launch: Launch, claims: Mapping[str, Claim]) -> PrintedRange:
    """Return how long a launch takes by a claim's figure, in ms, from its printed digits."""
    printed = resolve(Operand(claim=claim.id), claims)
    unit = claim.unit.base if claim.unit else Unit.MS
    if unit is Unit.MS:
        return printed
    work = launch.counted * PER_BASE[unit]
    longest = work / printed.low if printed.low > 0 else math.inf
    return PrintedRange(work / printed.value, work / printed.high, longest)


def within_bound(claim: Claim, time: PrintedRange) -> PrintedRange:
    """Return the times that a claim leaves open: of a bound, all on its other side."""
    less = claim.unit is None or claim.unit.base is not Unit.MS
    return _left_open(claim, time, turned=less)


def _left_open(claim: Claim, figure: PrintedRange, *, turned: bool = False) -> PrintedRange:
    """Return what a claim's figure may stand for: of a bound, all on its side; ``turned``: where
    the figure is smaller, the more is claimed.
    """
    if claim.relation.two_sided:
        return figure
    if (claim.relation is Relation.AT_LEAST) is not turned:
        return replace(figure, high=math.inf)
    return replace(figure, low=0.0)


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
        agreeing: list[tuple[Claim, PrintedRange]] = []
        for claim in figures:
            for launch in launches.of_claim(claim):
                stated = claimed_ms(claim, launch, launches.catalog.claims)
                other = next(
                    (o for o in agreeing if _contradicts(launches, *o, claim, stated)), None
                )
                if other is None:
                    agreeing.append((claim, stated))
                else:
                    yield claim.id, _contradiction(*other, claim, launch)


def _contradicts(
    launches: Launches, first: Claim, before: PrintedRange, second: Claim, stated: PrintedRange
) -> bool:
    """Return whether a later figure of the same target and configuration leaves open no time that
    a run may have which took what an earlier one leaves open: on one GPU, as ratios.
    """
    margin, opened = launches.catalog.judging.ratio_margin, within_bound(first, before)
    runs = PrintedRange(opened.value, opened.low * (1 - margin), opened.high * (1 + margin))
    alike = (first.configuration, first.software) == (second.configuration, second.software)
    apart = set(first.hardware.targets).isdisjoint(second.hardware.targets)
    return alike and not apart and not runs.meets(within_bound(second, stated))


def _contradiction(first: Claim, stated: PrintedRange, second: Claim, launch: Launch) -> str:
    """Return that no launch takes a time that both figures leave open."""
    unit, time = second.unit or Unit.MS, stated.value
    given = launch.counted * PER_BASE[unit.base] / time if unit.base in PER_BASE else time
    by = f", by which it is {quantity(from_base(given, unit), unit)}"
    text = f"{_stated(second)} contradicts '{first.id}' ({_stated(first)})"
    return f"{text}, which is of the same arm{'' if unit is first.unit else by}"


def _stated(claim: Claim) -> str:
    """Return a claim's figure as its source prints it, a bound with its side."""
    return f"{with_unit(claim.as_printed, claim.unit)}{BOUNDS.get(claim.relation, '')}"


def other_ratio(launches: Launches, parts: FiguresByArm, claim: Claim) -> Iterator[str]:
    """Yield that no two figures that a ratio is of, by any reading, give it, where they are
    printed.
    """
    found = list(_ratios(launches, parts, claim))
    if not found or claim.relation is Relation.SAME:
        return
    printed = resolve(Operand(claim=claim.id), launches.catalog.claims)
    meant = (claim.under(reading) for reading in claim.readings)
    others = (each for other in meant for each in _ratios(launches, parts, other))
    if any(stands(ratio, printed, claim.relation) for ratio, _, _ in (*found, *others)):
        return
    ratio, *both = found[0]
    first, second = (f"'{each.id}' ({_stated(each)})" for each in both)
    side = "" if ratio.low else BOUNDS[Relation.AT_MOST]
    if math.isinf(ratio.high):
        side = BOUNDS[Relation.AT_LEAST]
    given = with_unit(short(ratio.value), claim.unit) + side
    yield f"{_stated(claim)} is stated of {first} over {second}, and these two give {given}"


def _ratios(
    launches: Launches, parts: FiguresByArm, claim: Claim
) -> Iterator[tuple[PrintedRange, Claim, Claim]]:
    """Yield every ratio, in the claim's unit, that two figures of its source give, and the two."""
    claims = launches.catalog.claims
    match claim.evaluation:
        case Derived(flops=None) as evaluation:
            both = claims[evaluation.numerator], claims[evaluation.denominator]
            if all(map(_is_figure, both)):
                values = [
                    _left_open(each, resolve(Operand(claim=each.id), claims)) for each in both
                ]
                yield evaluate(Formula(evaluation.formula), values), *both
        case Benchmark(metric=Metric.RATE_RATIO | Metric.TIME_RATIO as metric, terms=(term,)):
            source = launches.catalog.source_of[claim.id]
            top = parts.get((source, term.comparison, term.arm), [])[:MOST_HELD]
            bottom = parts.get((source, term.comparison, term.over or ""), [])[:MOST_HELD]
            for one, other in product(top, bottom):
                if claim.hardware.targets == one.hardware.targets == other.hardware.targets:
                    ratio = _ratio(launches, claim, metric, term, one, other)
                    if ratio is not None:
                        yield ratio, one, other


def _ratio(
    launches: Launches, claim: Claim, metric: Metric, term: Term, one: Claim, other: Claim
) -> PrintedRange | None:
    """Return how many times faster ``one`` is than ``other``, in the unit of the ratio."""
    times = [
        within_bound(each, claimed_ms(each, launch, launches.catalog.claims))
        for each in (other, one)
        for launch in launches.of_claim(each)
    ]
    if len(times) < 2:
        return None
    factor = 1.0
    if metric is Metric.RATE_RATIO:
        both = (term.arm, term.over or "")
        try:
            mine, theirs = (launches.counted_by(term, arm, claim.counting) for arm in both)
        except Uncounted:
            return None
        factor = mine / theirs
    quotient, unit = evaluate(Formula.QUOTIENT, times), claim.unit or Unit.RATIO
    ends = (from_base(factor * end, unit) for end in (quotient.value, quotient.low, quotient.high))
    return PrintedRange(*ends)
