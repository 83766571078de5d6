"""Workloads (what is computed), comparisons (what is measured side by side), protocols (how)."""

from dataclasses import MISSING, fields
from enum import Enum, StrEnum
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, model_validator

from assay.records.base import Identifier, Record, Symbol
from assay.shared.expressions import parse
from assay.shared.specs import MOST, CodeSpec, PatternSpec, WorkloadSpec

S = TypeVar("S")
Dimension = Annotated[int, Field(gt=0, le=MOST)]


class Operation(StrEnum):
    """The operation that a workload computes."""

    BSR_GEMM = "bsr_gemm"
    BSR_BSR_GEMM = "bsr_bsr_gemm"
    DENSE_GEMM = "dense_gemm"
    GROUPED_GEMM = "grouped_gemm"
    DENSE_ATTENTION = "dense_attention"
    BLOCK_SPARSE_ATTENTION = "block_sparse_attention"
    BLOCK_SPARSE_ATTENTION_BACKWARD = "block_sparse_attention_backward"
    TMA_LOAD = "tma_load"
    CALLABLE = "callable"
    """Whatever a function of a project makes, with its own oracle."""


CodeParameter = int | float | bool | str
"""Of a problem that a project's function makes."""


class Workload(Record):
    """One problem: C[m,n] = A[m,k] B[k,n], attention over Q, K, V [batch,heads,seq,head_dim], or
    the loading of A[m,k] tile by tile (``tma_load``)."""

    id: Identifier
    operation: Operation
    dtype: Literal["float16", "bfloat16", "float8_e4m3", "float32"]
    """Of the inputs, and of the output too; but FP8 has a bfloat16 output, and the sums
    of ``tma_load`` are float32. Inputs in float32 are a project's alone."""
    output_dtype: Literal["float32"] | None = None
    """Of the output, where it is another; its variants say the same."""
    distribution: Literal["normal", "zeros", "unwritten", "own"]
    """``normal``: independent standard normals (attention), or scaled by 1/sqrt(k) for B (GEMM).
    Both operands of a product in FP8 are scaled by 32 instead (assay.device.kernels.drawn_inputs);
    attention's are normals, all scales 1, since rivals take none of blocks.
    ``unwritten``: memory as the driver handed it out, never written, as a program leaves it that
    allocates and launches. Timed only: the gate checks the same binary on normal values, and what
    the memory held is recorded."""
    seed: Annotated[int, Field(ge=0)]
    m: Dimension | None = None
    n: Dimension | None = None
    k: Dimension | None = None
    groups: Dimension | None = None
    batch: Dimension | None = None
    heads: Dimension | None = None
    seq_q: Dimension | None = None
    seq_kv: Dimension | None = None
    head_dim: Dimension | None = None
    b_layout: Literal["kn", "nk"] = "kn"
    """Of a dense product in 16 bits: how B lies in memory; ``nk`` as what goes into a linear layer
    does, all features of a token together."""
    pattern: PatternSpec | None = None
    """Stored blocks of A (BSR) or selected score blocks (attention)."""
    pattern_b: PatternSpec | None = None
    """Stored blocks of B, for BSR x BSR."""
    causal: bool = False
    """Of dense attention: a query sees the keys up to its own place, and no later one."""
    kv_heads: Dimension | None = None
    """Heads of K and V, where several heads of queries share one; None: as many as heads."""
    layout: Literal["bhsd", "bshd"] = "bhsd"
    """Of attention: how Q, K, V and the result lie in memory, batch, heads, sequence, head_dim."""
    window_left: Annotated[int, Field(ge=0, le=MOST)] | None = None
    """Of block-sparse attention: within a selected block, key j counts for query i only where
    j - i is at least minus this (queries end where keys end). None: no such bound."""
    window_right: Annotated[int, Field(ge=0, le=MOST)] | None = None
    """And only where j - i is at most this; 0 is causal."""
    code: CodeSpec | None = None
    """Of ``callable``: what draws the inputs (their distribution is its ``own``) and knows the
    right answer."""
    parameters: dict[Symbol, CodeParameter] = {}
    """What that function is called with."""
    small: dict[Symbol, CodeParameter] = {}
    """Of ``callable``: parameters of a small problem, in the place of those above; compiled kernels
    are checked at it, too, and run by compute-sanitizer."""
    flops: str | None = None
    """FLOPs of one launch of it, by the grammar of ``assay.shared.expressions`` over its
    parameters; None where nobody counted them, and so of ``bytes``: it has no roofline."""
    bytes: str | None = None
    """Least bytes that one launch of it moves, likewise."""
    relative_tolerance: Annotated[float, Field(gt=0)]
    """Largest accepted ||out - oracle||_F / ||oracle||_F."""
    max_abs_tolerance: Annotated[float, Field(gt=0)] | None = None
    """The source's own criterion, where it states one."""

    @model_validator(mode="after")
    def _formulas_name_parameters(self) -> "Workload":
        if unknown := sorted(self.small.keys() - self.parameters.keys()):
            raise ValueError(f"small: there is no parameter '{unknown[0]}'")
        for what in ("flops", "bytes"):
            if getattr(self, what) is None:
                continue
            formula = parse(getattr(self, what))
            for name in sorted(formula.names - self.numbers.keys()):
                raise ValueError(f"{what} names '{name}', which is no parameter that is a number")
            if formula.value(self.numbers) < 1:
                says = f"'{formula.text}' comes to less than 1 for these parameters"
                raise ValueError(f"{what}: {says}")
        return self

    @property
    def numbers(self) -> dict[str, float]:
        """Return the parameters of a callable that a formula may name."""
        return {
            name: value for name, value in self.parameters.items() if isinstance(value, int | float)
        }


GATES_OWN = ("logit_scale", "poison_unselected", "scaled_blocks")
"""Fields of a problem that no workload of a catalog has: the gate's further shapes set them."""


def workload_spec(workload: Workload) -> WorkloadSpec:
    """Return a problem; a dimension that its operation does not have is 0."""
    gates_own = {name: WorkloadSpec.__dataclass_fields__[name].default for name in GATES_OWN}
    return as_spec(WorkloadSpec, workload, **gates_own)


def as_spec(kind: type[S], record: Record, **given: Any) -> S:
    """Return the fields of ``kind`` as a record has them, its None being the field's default."""
    values = dict(given)
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in given:
            continue
        value = getattr(record, field.name)
        if value is None and field.default is not MISSING:
            value = field.default
        values[field.name] = value.value if isinstance(value, Enum) else value
    return kind(**values)


class WorkloadsFile(Record):
    """``config/workloads/*.yaml``."""

    schema_: Literal["assay/workloads/1"] = Field(alias="schema")
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1)]


class Arm(Record):
    """One side of a comparison: a variant on a workload."""

    id: Identifier
    variant: Identifier
    workload: Identifier
    reading_only: bool = False
    """Timed for readings of a claim alone: never what a claim rests on, never what another is held
    against. So is a search in unsorted columns, which misses products, and what nobody wrote."""


class Comparison(Record):
    """Arms measured in one process, interleaved, so that their ratios can be trusted."""

    id: Identifier
    title: str
    protocol: Identifier
    arms: Annotated[tuple[Arm, ...], Field(min_length=1)]
    control: Identifier
    """Arm that is measured twice under two names: the A/A control."""
    profile: tuple[Identifier, ...] = ()
    """Arms that Nsight Compute profiles."""

    def arm(self, name: str) -> Arm:
        """Return an arm by its id. Raises StopIteration where there is none."""
        return next(arm for arm in self.arms if arm.id == name)

    @model_validator(mode="after")
    def _arms_known(self) -> "Comparison":
        ids = [arm.id for arm in self.arms]
        unknown = {self.control, *self.profile} - set(ids)
        if len(ids) > len(set(ids)):
            raise ValueError(f"comparison {self.id} names an arm twice")
        if unknown:
            raise ValueError(f"comparison {self.id} has no arm {sorted(unknown)}")
        return self


class ComparisonsFile(Record):
    """``config/comparisons/*.yaml``."""

    schema_: Literal["assay/comparisons/1"] = Field(alias="schema")
    comparisons: Annotated[tuple[Comparison, ...], Field(min_length=1)]


FEWEST_FIXED = 5


def _rising(looks: tuple[int, ...]) -> tuple[int, ...]:
    if any(later <= earlier for earlier, later in pairwise(looks)):
        raise ValueError(f"{list(looks)}: each look has more processes than the one before")
    return looks


Looks = Annotated[
    tuple[Annotated[int, Field(ge=3, le=1000)], ...],
    Field(min_length=2, max_length=10),
    AfterValidator(_rising),
]


class Protocol(Record):
    """The protocol of taking samples; constants carry their reason in config/protocols.yaml."""

    id: Identifier
    processes: Annotated[int, Field(ge=FEWEST_FIXED, le=1000)] | Looks
    """Fresh processes; or, rising, after how many of them a verdict is looked for: there are more
    only where it is not decided."""
    blocks: Annotated[int, Field(ge=2, le=1000)]
    """Blocks a process; in a block every arm has two turns (ABBA)."""
    samples: Annotated[int, Field(ge=1, le=100_000)]
    """Timed launches a turn."""
    l2: Literal["cold", "warm"]
    timer: Literal["events", "graph"]
    """``events`` round single launches, L2 flushed between them when cold; ``graph``: events round
    graphs of many launches over rotating buffers, which are cold by their number."""
    warmup_min_ms: Annotated[float, Field(gt=0)]
    warmup_max_ms: Annotated[float, Field(gt=0)]
    warmup_stable_fraction: Annotated[float, Field(gt=0, lt=1)]
    """Warm-up ends when two successive medians differ by less than this fraction."""
    telemetry_interval_ms: Annotated[float, Field(gt=0)]
    checked_turns: Annotated[float, Field(gt=0, le=1)]
    """Share of timed turns of which an output is compared with the oracle."""
    turn_min_ms: Annotated[float, Field(gt=0)] | None = None
    """Launches are added to ``samples`` until they fill this time, up to ``shared.limits``."""
    settle_ms: Annotated[float, Field(gt=0)] | None = None
    """Before each turn, launches of the same arm that are not counted fill this time, so that the
    clock a power limit allows is the arm's own and not that of the arm before."""

    @property
    def looks(self) -> tuple[int, ...]:
        """Return after how many processes a verdict is looked for."""
        return (self.processes,) if isinstance(self.processes, int) else self.processes


class ProtocolsFile(Record):
    """``config/protocols.yaml``."""

    schema_: Literal["assay/protocols/1"] = Field(alias="schema")
    protocols: Annotated[tuple[Protocol, ...], Field(min_length=1)]


class Judging(Record):
    """``config/judging.yaml``: margins declared before a run and bound into its signature.

    Fields with a default were added later; the default is what earlier evidence is judged by.
    """

    schema_: Literal["assay/judging/1"] = Field(alias="schema")
    confidence: Annotated[float, Field(gt=0.5, lt=1)]
    absolute_margin: Annotated[float, Field(gt=0, lt=1)]
    """Half-width of the equivalence margin for absolute figures, as a fraction."""
    ratio_margin: Annotated[float, Field(gt=0, lt=1)]
    bootstrap_resamples: Annotated[int, Field(ge=200, le=20_000)]
    bootstrap_seed: Annotated[int, Field(ge=0)]
    width_factor: Annotated[float, Field(ge=1)] = 1.05
    """Intervals are this much wider than Student's t asks for; see config/judging.yaml."""
    state_gap: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """How far apart two states of one card may lie, of which few processes may show but one."""
    mode_gap: Annotated[float, Field(gt=0)] = 0.01
    """Two groups of samples closer than this fraction are not told apart."""
    mode_separation: Annotated[float, Field(gt=0)] = 6.0
    """Distance of two groups over the scatter inside them, above which they are called modes."""
    worst_of: Literal["deciding_term", "bounds"] = "deciding_term"
    """Interval of a claim over several terms: the one of the term that decides, or the bounds of
    the worst term's true value (docs/statistics.md)."""
    stopwatch_agreement: Annotated[float, Field(gt=0, lt=1)] = 0.03
    """Stopwatches that differ by more than this fraction are reported as disagreeing."""
    card_comparisons: tuple[Identifier, ...] = ()
    """By this and the next two earlier versions held GPUs of one machine against each other; they
    stand in signed reports, and nothing else reads them."""
    card_seconds: Annotated[float, Field(gt=0)] = 150.0
    neighbour_margin: Annotated[float, Field(gt=0, lt=1)] = 0.01
    program_runs: Annotated[int, Field(ge=5, le=1000)]
    """Fresh processes an original program is run in."""
    correctness_seeds: Annotated[tuple[int, ...], Field(min_length=2, max_length=100)]
