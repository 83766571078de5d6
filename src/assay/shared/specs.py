"""Dataclasses that jobs are made of: targets, problems, kernels, and how they are timed."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from assay.shared.expressions import parse

Json = dict[str, Any]


@dataclass(frozen=True)
class TargetSpec:
    """The GPU that was asked for."""

    id: str
    product_pattern: str
    """Regular expression that NVML's product name must match in full."""


MOST = 1 << 24
"""Of a dimension: what a workload says is computed again by whoever verifies, in bounded time."""
STRICT = {"extra": "forbid", "strict": True}
"""By which the host reads a class of this module that is part of a record."""


@dataclass(frozen=True)
class PatternSpec:
    """The pattern of stored blocks, ``blocks_per_row`` in each row (see assay.shared.sparsity)."""

    __pydantic_config__: ClassVar = STRICT
    kind: Literal[
        "random", "drawn", "mt19937", "ragged", "sliding_window", "sliding_window_sinks", "strided"
    ]
    """``drawn``: columns at random with repeats and unsorted, as a generator throws them.
    ``mt19937``: the same by C++'s generator of that name, A's columns and then B's."""
    block_rows: int
    """Rows of one block (BM of A, BK of B, query rows of attention)."""
    block_cols: int
    blocks_per_row: int
    """Stored blocks a block row (the mean, where ragged); of a sliding window, those up to and
    including the diagonal, of which the first block column is one with sinks."""
    search: Literal["lower_bound", "first_hit"] = "lower_bound"
    """Which binary search a kernel makes in a row of B: it decides what is found where columns
    do not rise, and nothing elsewhere. ``lower_bound`` closes in and compares once, at the end;
    ``first_hit`` compares at every step and returns at the first equal column."""

    def __post_init__(self) -> None:
        """Raise ValueError for a size that is none."""
        if not all(0 < n <= MOST for n in (self.block_rows, self.block_cols, self.blocks_per_row)):
            raise ValueError(f"a pattern's sizes are from 1 to {MOST}")


@dataclass(frozen=True)
class CodeSpec:
    """A function of a project, and every file that may have a part in what it does."""

    __pydantic_config__: ClassVar = STRICT
    file: str
    """Below the project's folder."""
    function: str
    files: dict[str, str]
    """By name below the project's folder: its SHA-256. What one file does may hang on any other."""


@dataclass(frozen=True)
class WorkloadSpec:
    """One problem; a dimension that its operation does not have is 0."""

    id: str
    operation: str
    dtype: str
    distribution: str
    seed: int
    relative_tolerance: float
    max_abs_tolerance: float | None = None
    m: int = 0
    n: int = 0
    k: int = 0
    b_layout: Literal["kn", "nk"] = "kn"
    groups: int = 0
    batch: int = 0
    heads: int = 0
    seq_q: int = 0
    seq_kv: int = 0
    head_dim: int = 0
    pattern: PatternSpec | None = None
    pattern_b: PatternSpec | None = None
    output_dtype: Literal["float32"] | None = None
    causal: bool = False
    kv_heads: int = 0
    """Heads of K and V, where queries share them; 0: as many as there are heads."""
    layout: Literal["bhsd", "bshd"] = "bhsd"
    window_left: int | None = None
    window_right: int | None = None
    code: CodeSpec | None = None
    """Of operation ``callable``: what makes inputs, arms and the right answer."""
    parameters: Json = field(default_factory=dict)
    small: Json = field(default_factory=dict)
    """What of it is otherwise where kernels are tried at a small problem."""
    flops: str | None = None
    """FLOPs of one launch of it, a formula over its parameters."""
    bytes: str | None = None
    logit_scale: float = 1.0
    """Factor on Q: large logits make a running maximum grow. Only the gate's own shapes set it."""
    poison_unselected: bool = False
    """NaN in K and V that no block selects: who reads them shows it. Only the gate's own shapes set
    it."""
    scaled_blocks: bool = False
    """Attention in FP8 with a scale a block, of values that differ in size. Only the gate's own
    shapes set it."""

    @property
    def key_heads(self) -> int:
        """Return the number of heads of K and V."""
        return self.kv_heads or self.heads

    @property
    def attends(self) -> bool:
        """Return whether it is attention, or its gradients."""
        return "attention" in self.operation

    @property
    def differentiates(self) -> bool:
        """Return whether it is the gradients of attention."""
        return self.operation.endswith("attention_backward")

    @property
    def attends_in_fp8(self) -> bool:
        """Return whether it is block-sparse attention in FP8."""
        return self.dtype == "float8_e4m3" and self.operation == "block_sparse_attention"

    @property
    def windowed(self) -> bool:
        """Return whether scores within a selected block may be masked."""
        return self.window_left is not None or self.window_right is not None

    @property
    def written(self) -> bool:
        """Return whether values are written before they are read."""
        return self.distribution != "unwritten"

    def counted(self, formula: str | None) -> int:
        """Return what a formula comes to over the parameters; 0 where nobody counted. Raises
        ValueError where it has no value.
        """
        return round(parse(formula).value(self.numbers)) if formula else 0

    @property
    def numbers(self) -> dict[str, float]:
        """Return the parameters that a formula may name."""
        return {
            name: value for name, value in self.parameters.items() if isinstance(value, int | float)
        }


@dataclass(frozen=True)
class VariantSpec:
    """One implementation: a compiled kernel (symbol, abi) or a library (entry)."""

    id: str
    operation: str
    kind: Literal["kernel", "library", "callable"]
    symbol: str | None = None
    abi: str | None = None
    entry: str | None = None
    output_dtype: Literal["float32"] | None = None
    score_dtype: Literal["float16"] | None = None
    """Of attention's scores between launches, where they are rounded there."""
    operands: tuple[str, ...] = ()
    """Of a project's kernel: inputs whose addresses its launcher takes."""
    sizes: tuple[str, ...] = ()
    """Of a project's kernel: parameters that it takes."""


@dataclass(frozen=True)
class ArtifactSpec:
    """A compiled library or program, and the digest it must have."""

    path: str
    sha256: str


@dataclass(frozen=True)
class ArmSpec:
    """One side of a comparison, with everything it takes to run it."""

    id: str
    variant: VariantSpec
    workload: WorkloadSpec
    artifact: ArtifactSpec | None
    """None for a library, and for a kernel that was not compiled."""


@dataclass(frozen=True)
class ComparisonSpec:
    """Arms that are measured interleaved; ``control`` is the arm measured under two names."""

    id: str
    control: str
    arms: tuple[ArmSpec, ...]


@dataclass(frozen=True)
class ProtocolSpec:
    """The protocol of taking samples; see records/workloads.py for each field."""

    id: str
    blocks: int
    samples: int
    l2: Literal["cold", "warm"]
    warmup_min_ms: float
    warmup_max_ms: float
    warmup_stable_fraction: float
    telemetry_interval_ms: float
    checked_turns: float
    timer: Literal["events", "graph"] = "events"
    turn_min_ms: float = 0.0
    settle_ms: float = 0.0
