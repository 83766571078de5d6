"""FLOP formulas: what a claim's rate counted, against what was measured or printed. Pure.

Headline FLOPs are those of stored blocks ("nnz"). A claim that counted otherwise is met halfway:
the measured rate is restated by the claim's formula before the two are compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.judging import cutlass_output as outputs
from assay.judging.cutlass_output import ParserName, Shape, causal_41, printed_flop
from assay.records.evaluations import FlopFormula
from assay.records.measurements import ArmFacts
from assay.records.units import short
from assay.records.workloads import Workload
from assay.shared import flops
from assay.shared.expressions import BadExpression, Expression

Counting = FlopFormula | Expression | None
"""How a rate counts FLOPs: by a named formula, by one of its own, or as it was measured."""
CUTLASS_41 = (FlopFormula.CUTLASS_41_FULL, FlopFormula.CUTLASS_41_CAUSAL)
OWN_NAMES = {"batch": "b", "heads": "h", "seq_q": "q", "seq_kv": "k_len", "head_dim": "d"}
"""Names of a formula (``shared.formula_names``) for sizes that workloads name otherwise."""
SIZES = ("m", "n", "k", "groups", *OWN_NAMES)
"""Sizes of a workload that a formula may name."""
WHOLE = (FlopFormula.DENSE, FlopFormula.EFFECTIVE, FlopFormula.ATTENTION_4BHQKD)
"""Formulas that count the whole dense problem, skipped blocks included."""


@dataclass(frozen=True)
class Conversion:
    """Factor from the measured to the claimed way of counting, and the sentence that says so."""

    factor: float
    sentence: str | None


AS_IS = Conversion(1.0, None)
_UNSTATED = "The source does not say which FLOPs it counted; those of {} are taken."


def cutlass_41_per_flop(seq_q: int, seq_kv: int, head_dim: int, causal: bool) -> float:
    """Return what example 41 counts for each of the 4 D FLOPs that a score element really costs."""
    counted = flops.cutlass_41(1, 1, seq_q, seq_kv, head_dim, causal)
    return counted / (4 * head_dim * flops.score_elements(seq_q, seq_kv, causal))


class Uncounted(ValueError):
    """A formula asks for what the record does not say, or has no value; the text says which."""


def problem_facts(facts: ArmFacts, workload: Workload) -> dict[str, float]:
    """Return what a formula may name of a benchmark arm's problem: its record's counts.

    A record from before has none: then the sizes, and what is stored of A.
    """
    if facts.counts:
        return facts.counts
    sizes = {OWN_NAMES.get(name, name): getattr(workload, name) for name in SIZES}
    sizes |= workload.numbers
    known = {**sizes, "stored_blocks_a": facts.stored_blocks, "density_a": facts.density}
    return {name: float(value) for name, value in known.items() if value is not None}


def program_facts(parser: ParserName, shape: Shape) -> dict[str, float]:
    """Return what a formula may name of the problem that a program reports: its sizes."""
    if parser in ("cutlass_43", "cutlass_47", "cutlass_57"):
        return {name: float(size) for name, size in shape.items()}
    sizes = outputs.attention_sizes(parser, shape)
    return dict(zip(OWN_NAMES.values(), map(float, sizes), strict=True))


def _counted_by(
    formula: Expression, facts: Mapping[str, float], done: float, who: str
) -> Conversion:
    """From ``done`` FLOPs to those that a formula counts. Raises Uncounted where there is none."""
    factor, counted = _factor(formula, facts, done), f"FLOPs are counted as {formula.text}"
    if factor == 1:
        return Conversion(factor, f"{counted}, which are those that {who}.")
    sentence = (
        f"{counted}, {short(factor)} times those that {who}; the rate is restated by that factor "
        "before it is compared."
    )
    return Conversion(factor, sentence)


def _factor(formula: Expression, facts: Mapping[str, float], done: float) -> float:
    try:
        factor = formula.value(facts) / done
    except BadExpression as error:
        raise Uncounted(f"No figure can be formed: {error}.") from error
    if factor <= 0:
        raise Uncounted(f"No figure can be formed: '{formula.text}' is not above zero.")
    return factor


def for_benchmark(formula: Counting, facts: ArmFacts, workload: Workload) -> Conversion:
    """Convert from the stored-block FLOPs of a benchmark arm to ``formula``. Raises Uncounted."""
    if isinstance(formula, Expression):
        known = problem_facts(facts, workload)
        return _counted_by(formula, known, facts.flop, "the launch really does")
    density = facts.density
    if formula is FlopFormula.UNSTATED:
        counted = "the whole product" if density in (None, 1) else "the stored blocks"
        return Conversion(1.0, _UNSTATED.format(counted))
    if formula in CUTLASS_41:
        return _benchmark_41(formula, workload)
    if formula in WHOLE and not density and formula is FlopFormula.EFFECTIVE:
        return Conversion(1.0, "The record states no density: no effective rate can be formed.")
    if formula not in WHOLE or not density or density == 1:
        return AS_IS
    sentence = (
        f"The claim counts the FLOPs of the whole dense problem ({formula.value}); the measured "
        f"rate is restated by the density of {short(density)} before it is compared."
    )
    return Conversion(1 / density, sentence)


def for_traffic(formula: Counting, facts: ArmFacts, workload: Workload) -> Conversion:
    """Convert from the least traffic of a benchmark arm to ``formula``. Raises Uncounted."""
    if not isinstance(formula, Expression):
        return AS_IS
    factor = _factor(formula, problem_facts(facts, workload), facts.bytes)
    sentence = (
        f"Bytes are counted as {formula.text}, {short(factor)} times the least traffic of the "
        "launch; the bandwidth is restated by that factor before it is compared."
    )
    return Conversion(factor, sentence)


def _benchmark_41(formula: FlopFormula, workload: Workload) -> Conversion:
    seq_q, seq_kv, head_dim = workload.seq_q, workload.seq_kv, workload.head_dim
    if seq_q is None or seq_kv is None or head_dim is None:
        return Conversion(1.0, f"The claim's formula {formula.value} is not one of this operation.")
    causal = formula is FlopFormula.CUTLASS_41_CAUSAL
    factor = cutlass_41_per_flop(seq_q, seq_kv, head_dim, causal)
    sentence = (
        f"The claim counts as CUTLASS example 41 does, {short(factor)} times the FLOPs of the two "
        "products; the measured rate is restated by that factor before it is compared."
    )
    return Conversion(factor, sentence)


def for_program(
    formula: Counting, parser: ParserName, shape: Shape, arguments: Sequence[str]
) -> Conversion:
    """Convert from the FLOPs a program counted for its rate to ``formula``. Raises Uncounted."""
    printed = printed_flop(parser, shape, arguments)
    if isinstance(formula, Expression):
        if printed is None:
            text = "The program's own count is not known: its rate stands as printed."
            return Conversion(1.0, text)
        return _counted_by(formula, program_facts(parser, shape), printed, "the program counted")
    if parser == "cutlass_57" or printed is None or formula is None:
        return AS_IS
    if formula is FlopFormula.UNSTATED:
        return Conversion(1.0, _UNSTATED.format("the program's own count"))
    if parser == "cutlass_41":
        return _program_41(formula, shape, causal_41(arguments))
    sentence = (
        "The claim counts the whole score matrix, the program half of it; the printed rate is "
        "restated before it is compared."
    )
    return Conversion(2.0, sentence) if formula in WHOLE and shape["causal"] else AS_IS


def _program_41(formula: FlopFormula, shape: Shape, causal: bool) -> Conversion:
    sizes = (int(shape["seq_length"]), int(shape["seq_length_kv"]), int(shape["head_size"]))
    own = cutlass_41_per_flop(*sizes, causal)
    if formula in CUTLASS_41:
        claimed_causal = formula is FlopFormula.CUTLASS_41_CAUSAL
        if claimed_causal == causal:
            return AS_IS
        claimed = cutlass_41_per_flop(*sizes, claimed_causal)
        ran, counted = ("causal", "full") if causal else ("full", "causal")
        sentence = f"The claim counts {counted} attention; this run was {ran}."
        return Conversion(claimed / own, sentence)
    factor = 1 / own
    if formula in WHOLE and causal:
        factor *= flops.score_elements(*sizes[:2], False) / flops.score_elements(*sizes[:2], True)
    sentence = (
        f"The program counts {short(own)} times the FLOPs of the two products; the claim does "
        f"not, so the printed rate is restated by {short(factor)} before it is compared."
    )
    return Conversion(factor, sentence)
