"""What claims state of one launch, by arithmetic alone. Pure."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from assay.catalog.model import Catalog
from assay.judging.cutlass_output import DTYPES, figure_unit, printed_flop
from assay.judging.formulas import Counting, Uncounted, for_benchmark, for_program, for_traffic
from assay.judging.printed_figures import PrintedRange, resolve
from assay.records.arithmetic import Operand
from assay.records.claims import Claim
from assay.records.evaluations import Benchmark, FlopFormula, Metric, Program, Term
from assay.records.measurements import ArmFacts
from assay.records.units import Unit
from assay.records.workloads import Workload, workload_spec
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
    """The launches of a catalog's claims."""

    catalog: Catalog

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

    def _of_term(self, metric: Metric, term: Term, counting: Counting) -> Launch:
        facts, workload = self._arm(term.comparison, term.arm)
        counted = 1.0
        if metric is Metric.RATE:
            counted = facts.flop * for_benchmark(counting, facts, workload).factor
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
        of_arm = {"arm": arm.id, "variant": arm.variant, "workload": arm.workload}
        facts = _facts_of(workload.model_dump_json()) | of_arm
        return ArmFacts(binary_sha256=None, **facts), workload


@cache
def _facts_of(workload: str) -> dict[str, Any]:
    """Return what a launch of a problem, given as JSON, does: reports share most of theirs."""
    spec = workload_spec(Workload.model_validate_json(workload))
    return asdict(launch_facts(spec, *workload_blocks(spec, spec.seed)))


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
