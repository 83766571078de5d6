"""What a claim states of one launch, by arithmetic alone: its work, and how long it takes. Pure."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from assay.catalog.model import Catalog
from assay.judging.cutlass_output import figure_unit, printed_flop
from assay.judging.formulas import Counting, Uncounted, for_benchmark, for_program, for_traffic
from assay.judging.printed_ranges import PrintedRange, resolve
from assay.judging.program import DTYPES
from assay.records.arithmetic import Operand
from assay.records.claims import Claim, Relation
from assay.records.evaluations import Benchmark, Metric, Program, Term
from assay.records.measurements import ArmFacts
from assay.records.readings import FlopFormula
from assay.records.units import Unit
from assay.records.workload_specs import workload_spec
from assay.shared.launch_facts import launch_facts
from assay.shared.stored_blocks import workload_blocks
from assay.statistics.roofline import Dtype

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
        match claim.evaluation:
            case Benchmark(metric=metric, terms=terms) if metric in OF_ONE_LAUNCH:
                found = [self._of_term(metric, term, claim.counting) for term in terms]
            case Program() as evaluation:
                found = [self._of_program(evaluation, claim.counting)]
            case _:
                found = []
        return [launch for launch in found if launch is not None]

    def counted_by(self, term: Term, arm: str, counting: Counting) -> float:
        """Return the FLOP of an arm as a claim counts them. Raises Uncounted."""
        facts = self._arm(term.comparison, arm)
        workload = self.catalog.workloads[facts.workload]
        return facts.flop * for_benchmark(counting, facts, workload).factor

    def _of_term(self, metric: Metric, term: Term, counting: Counting) -> Launch | None:
        facts = self._arm(term.comparison, term.arm)
        workload = self.catalog.workloads[facts.workload]
        counted = 1.0
        try:
            if metric is Metric.RATE:
                counted = facts.flop * for_benchmark(counting, facts, workload).factor
            elif metric is Metric.BANDWIDTH:
                counted = facts.bytes * for_traffic(counting, facts, workload).factor
        except Uncounted:
            return None
        return Launch(facts.flop, facts.bytes, workload.dtype, counted)

    def _of_program(self, evaluation: Program, counting: Counting) -> Launch | None:
        parser = self.catalog.programs[evaluation.program].parser
        shape, arguments = evaluation.stated.shape, evaluation.stated.arguments
        try:
            printed = printed_flop(parser, shape, arguments)
            if printed is None:
                return None
            if figure_unit(evaluation.figure) is Unit.MS:
                counted = 1.0
            else:
                counted = printed * for_program(counting, parser, shape, arguments).factor
            done: float = printed
            if parser == "cutlass_41":
                done *= for_program(FlopFormula.NNZ, parser, shape, arguments).factor
        except (KeyError, Uncounted):  # a size that the source leaves unsaid
            return None
        return Launch(done, 0.0, DTYPES[parser], counted)

    def _arm(self, comparison: str, name: str) -> ArmFacts:
        arm = next(arm for arm in self.catalog.comparisons[comparison].arms if arm.id == name)
        if arm.workload not in self._facts:
            spec = workload_spec(self.catalog.workloads[arm.workload])
            facts = asdict(launch_facts(spec, *workload_blocks(spec, spec.seed)))
            self._facts[arm.workload] = ArmFacts(
                arm=arm.id,
                variant=arm.variant,
                workload=arm.workload,
                binary_sha256=None,
                warmup_ms=0.0,
                **facts,
            )
        return self._facts[arm.workload]


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
    slower_is_more = claim.unit is not None and claim.unit.base is Unit.MS
    if claim.relation in (Relation.EQUALS, Relation.SAME):
        return time
    if (claim.relation is Relation.AT_LEAST) == slower_is_more:
        return PrintedRange(time.value, time.low, math.inf)
    return PrintedRange(time.value, 0.0, time.high)
