"""Published figures that arithmetic alone contradicts: no GPU is asked, nothing is run. Pure.

Held are figures against the datasheet of the GPU that they are claimed for, and audits against
their own numbers.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.judging.arm_figures import PER_BASE, Launch, Launches, claimed_ms
from assay.judging.formulas import CUTLASS_41, WHOLE
from assay.judging.printed_figures import audit, from_base, resolve
from assay.records.arithmetic import Operand
from assay.records.claims import RATE_UNITS, Audit, Claim, Relation
from assay.records.evaluations import Arithmetic
from assay.records.platform import Target
from assay.records.units import Unit, quantity, short, with_unit
from assay.statistics.roofline import (
    SPARSE_SHARE,
    ClaimableTime,
    Dtype,
    claimable,
    peak_tflop_per_s,
)

SPARSE = re.compile(r"\b2:4\b")
"""How structured sparsity is stated, which has a peak of its own."""
CACHE = re.compile(r"\bL2\b")
DTYPE_WORDS: dict[Dtype, frozenset[str]] = {
    "float16": frozenset({"fp16", "float16", "f16", "half", "bf16", "bfloat16"}),
    "float8": frozenset({"fp8", "float8", "f8", "e4m3", "e5m2"}),
    "float32": frozenset({"fp32", "float32", "f32", "tf32"}),
}
"""How claims name the type of their inputs."""
SKIPPING = (*WHOLE, *CUTLASS_41)
"""Formulas that may count work that no launch does, by a share that only its problem tells."""


@dataclass(frozen=True)
class ImpossibleFigure:
    """One published figure that cannot be right as it is stated."""

    of: str
    """Id of the claim or the audit."""
    says: str
    """One sentence, without the id."""


def impossible_figures(catalog: Catalog) -> Iterator[ImpossibleFigure]:
    """Yield every figure that arithmetic contradicts, claims first, then audits."""
    yield from impossible_claims(catalog)
    for name, result in _relations(catalog):
        if isinstance(result, str):
            yield ImpossibleFigure(name, result)


def impossible_claims(catalog: Catalog) -> Iterator[ImpossibleFigure]:
    """Yield claims beyond the peaks of their targets."""
    launches = Launches(catalog)
    for claim in catalog.claims.values():
        for says in _beyond_peaks(launches, claim) if claim.value is not None else ():
            yield ImpossibleFigure(claim.id, says)


def uncomputable(catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Yield (id, why) of every relation that has no value: it divides by zero, say."""
    for name, result in _relations(catalog):
        if isinstance(result, ValueError):
            yield name, str(result)


def _relations(catalog: Catalog) -> Iterator[tuple[str, str | ValueError]]:
    """Yield (id, what contradicts it or why it has no value) of claims and audits that are
    arithmetic; those that are borne out are left out.
    """
    asked: list[tuple[str, Arithmetic | Audit, Operand | None, Relation]] = [
        (claim.id, claim.evaluation, Operand(claim=claim.id), claim.relation)
        for claim in catalog.claims.values()
        if isinstance(claim.evaluation, Arithmetic)
    ]
    asked += [(each.id, each, each.claimed, Relation.EQUALS) for each in catalog.audits.values()]
    for name, entry, printed, relation in asked:
        try:
            result = audit(entry.formula, entry.operands, printed, catalog.claims, relation)
        except ValueError as error:
            yield name, error
            continue
        if not result.consistent:
            yield name, result.sentence.rstrip(".")


def _beyond_peaks(launches: Launches, claim: Claim) -> Iterator[str]:
    """Yield how a claim is beyond each of its targets' peaks, whatever the source leaves open; one
    that stands for another product says nothing of that product's.
    """
    if claim.hardware.stand_in:
        return
    meant = [claim.under(each) for each in claim.all_readings() if each.differs == "unstated"]
    if all([*_stated_beyond(launches, each)] for each in meant):
        yield from _stated_beyond(launches, claim)


def _stated_beyond(launches: Launches, claim: Claim) -> Iterator[str]:
    claims, spoken_of = launches.catalog.claims, launches.of_claim(claim)
    for name in claim.hardware.targets:
        target = launches.catalog.targets[name]
        found = [_launch_beyond(claim, launch, target, claims) for launch in spoken_of]
        if not spoken_of:
            found = [_figure_beyond(claim, target, claims)]
        yield from [says for says in found if says is not None][:1]


def _launch_beyond(
    claim: Claim, launch: Launch, target: Target, claims: Mapping[str, Claim]
) -> str | None:
    """Return how a figure of a known launch is beyond a target's peaks."""
    sparse = _says(claim, SPARSE)
    least = claimable(launch.flop, launch.bytes, launch.dtype, target, sparse=sparse)
    unit = claim.unit or Unit.MS
    slowest = Relation.AT_LEAST if unit.base is Unit.MS else Relation.AT_MOST
    if claim.relation is slowest or claimed_ms(claim, launch, claims).high >= least.ms:
        return None
    limit = launch.counted * PER_BASE[unit.base] / least.ms if unit.base in PER_BASE else least.ms
    if unit in RATE_UNITS and least.by == "compute" and launch.counted == launch.flop:
        kind = _peak(target, launch.dtype, sparse)[1]
        return _sentence(claim, from_base(limit, unit), target, f"its {kind} peak")
    unsaid = f"; its source leaves unsaid: {'; '.join(claim.unstated)}" if claim.unstated else ""
    why = f"{_why(launch, least, target, sparse)}{unsaid}"
    return _sentence(claim, from_base(limit, unit), target, why)


def _why(launch: Launch, least: ClaimableTime, target: Target, sparse: bool) -> str:
    """Return what bounds a launch, with the figures that it follows from."""
    if least.by == "compute":
        peak, kind = _peak(target, launch.dtype, sparse)
        does, rate = f"does {short(launch.flop / 1e9)} GFLOP", quantity(peak, Unit.TFLOP_PER_S)
        return f"a launch of what answers it {does}, at a peak of {rate} ({kind})"
    moved, cache = (f"{short(size / 1e6)} MB" for size in (launch.bytes, target.l2_bytes))
    rate = quantity(target.peaks.memory_gb_per_s, Unit.GB_PER_S)
    moves = f"moves at least {moved}, more than the {cache} of the L2 cache"
    return f"a launch of what answers it {moves}, at a memory peak of {rate}"


def _peak(target: Target, dtype: Dtype, sparse: bool) -> tuple[float, str]:
    """Return the rate of the tensor cores in TFLOP/s, and what it is the rate of."""
    rate = peak_tflop_per_s(target.peaks, dtype)
    named: str = dtype
    if dtype == "float32" and rate > target.peaks.fp32_tflop_per_s:
        named = "TF32"
    elif dtype.startswith("float8") and target.peaks.fp8_tensor_tflop_per_s is None:
        named = "float16"
    return (SPARSE_SHARE * rate, f"2:4 sparse {named}") if sparse else (rate, f"dense {named}")


def _figure_beyond(claim: Claim, target: Target, claims: Mapping[str, Claim]) -> str | None:
    """Return how a rate or a bandwidth is beyond a target's peaks, whatever was launched."""
    unit = claim.unit
    if unit is None or claim.relation is Relation.AT_MOST:
        return None
    if unit in RATE_UNITS and claim.flops is None and claim.flop_formula not in SKIPPING:
        peak, kind = _stated_peak(claim, target, _says(claim, SPARSE))
        why = f"its {kind} peak"
    elif unit.base is Unit.GB_PER_S and claim.bytes is None and not _says(claim, CACHE):
        peak = target.peaks.memory_gb_per_s
        why = "its memory's peak, and nothing says that the L2 cache held the data"
    else:
        return None
    least = resolve(Operand(claim=claim.id), claims).low
    return _sentence(claim, from_base(peak, unit), target, why) if least > peak else None


def _sentence(claim: Claim, limit: float, target: Target, why: str) -> str:
    unit = claim.unit or Unit.MS
    beyond, most = ("below", "least") if unit.base is Unit.MS else ("beyond", "most")
    stated = with_unit(claim.as_printed, unit)
    return f"{stated} is {beyond} {quantity(limit, unit)}, the {most} on {target.product}: {why}"


def _stated_peak(claim: Claim, target: Target, sparse: bool) -> tuple[float, str]:
    """Return the peak of the fastest type that a claim's configuration names, or else its
    statement, and what it is of; of one that names none, of the fastest that the target has.
    """
    for text in (" ".join(map(str, claim.configuration.values())), claim.statement):
        words = set(re.findall(r"[a-z0-9]+", text.lower()))
        named = [dtype for dtype, spellings in DTYPE_WORDS.items() if spellings & words]
        if named:
            return max(_peak(target, dtype, sparse) for dtype in named)
    return _peak(target, "float8", sparse)


def _says(claim: Claim, pattern: re.Pattern[str]) -> bool:
    """Return whether a claim's configuration, or its statement, has words that match."""
    stated = (*claim.configuration, *map(str, claim.configuration.values()), claim.statement)
    return any(pattern.search(text) for text in stated)
