"""The facts of one launch: FLOPs on stored blocks, least traffic, what its problem has."""

import math
from dataclasses import dataclass, field

import numpy as np

from assay.shared import flops
from assay.shared import sparsity as patterns
from assay.shared.attention_lists import seen_scores
from assay.shared.specs import WorkloadSpec
from assay.shared.stored_blocks import Blocks

ELEMENT_BYTES = {"float16": 2, "bfloat16": 2, "float8_e4m3": 1}
OUTPUT_BYTES = 2
"""Results are float16 or bfloat16, those of FP8 products too, unless a workload says float32."""
WIDE_OUTPUT_BYTES = 4
INDEX_BYTES = 4
SUM_BYTES = 4
"""Sums of tile rows are float32, and so are attention's log-sum-exps."""
PRODUCTS, GRADIENT_PRODUCTS = 2, 5
"""Products of each score's row and column that attention takes, and its gradients: S, dP, dQ, dK
and dV. A kernel that computes S and dP twice to spare memory performs seven; five count."""
OF_A_PRODUCT = ("products", "block_m", "block_k", "block_n")


@dataclass(frozen=True)
class Facts:
    """Fields of the same names in records.measurements.ArmFacts."""

    flop: int
    bytes: int
    stored_blocks: int | None
    density: float | None
    counts: dict[str, float] = field(default_factory=dict)


def _index_bytes(blocks: Blocks) -> int:
    return INDEX_BYTES * (len(blocks.row_ptr) + len(blocks.col_idx))


def _value_count(blocks: Blocks) -> int:
    return blocks.stored * blocks.block_rows * blocks.block_cols


def _used_columns(blocks: Blocks, limit: int) -> int:
    """Matrix columns that at least one stored block covers, at most ``limit``."""
    return min(limit, len(np.unique(blocks.col_idx)) * blocks.block_cols)


def _gemm_bytes(w: WorkloadSpec, a: Blocks | None, b: Blocks | None) -> int:
    """Bytes of a matrix product; what no stored block of A meets is not read."""
    element = ELEMENT_BYTES[w.dtype]
    output = (WIDE_OUTPUT_BYTES if w.output_dtype == "float32" else OUTPUT_BYTES) * w.m * w.n
    if a is None:
        return (w.groups or 1) * (element * (w.m * w.k + w.k * w.n) + output)
    if b is None:
        elements = _value_count(a) + _used_columns(a, w.k) * w.n
        return element * elements + output + _index_bytes(a)
    # At each place a search finds another block, so none is counted twice.
    b_blocks = int((b.found()[np.unique(a.col_idx)] >= 0).sum())
    elements = _value_count(a) + b_blocks * b.block_rows * b.block_cols
    return element * elements + output + _index_bytes(a) + _index_bytes(b)


def _attention(w: WorkloadSpec, blocks: Blocks | None) -> tuple[int, int]:
    """FLOPs and bytes: Q and O for queries, K and V for keys. Gradients read these, dO and a sum of
    each query, and are written for all queries and keys.
    """
    keys = w.seq_kv if blocks is None else _used_columns(blocks, w.seq_kv)
    of_queries, of_keys = w.batch * w.heads * w.seq_q, w.batch * w.key_heads
    moved, products = of_queries + 2 * of_keys * keys, PRODUCTS
    bytes_ = OUTPUT_BYTES * w.head_dim * of_queries
    if w.differentiates:
        moved, products = moved + 2 * of_queries + 2 * of_keys * w.seq_kv, GRADIENT_PRODUCTS
        bytes_ += SUM_BYTES * of_queries
    bytes_ += ELEMENT_BYTES[w.dtype] * w.head_dim * moved + (_index_bytes(blocks) if blocks else 0)
    scores = flops.score_elements(w.seq_q, w.seq_kv, w.causal)
    if blocks is not None:
        scores = seen_scores(blocks, w) if w.windowed else _value_count(blocks)
    return 2 * products * w.batch * w.heads * scores * w.head_dim, bytes_


def _load(w: WorkloadSpec) -> tuple[int, int]:
    """Every element is read and added once, one sum is written for each row of each tile."""
    sums = w.m * math.ceil(w.k / flops.LOAD_TILE_COLS)
    return w.m * w.k, ELEMENT_BYTES[w.dtype] * w.m * w.k + SUM_BYTES * sums


def _gemm_counts(w: WorkloadSpec, a: Blocks | None, b: Blocks | None) -> dict[str, float]:
    """Counts of a product: twice ``OF_A_PRODUCT`` are its FLOPs. A dense operand is one block, and
    has block rows of B as A has block columns.
    """
    block_m, block_k = (a.block_rows, a.block_cols) if a else (w.m, w.k)
    rows_b = a.grid_cols if a else 1
    counts: dict[str, float] = {
        "m": w.m, "n": w.n, "k": w.k, "groups": w.groups or 1, "block_m": block_m,
        "block_k": block_k, "block_n": b.block_cols if b else w.n,
        "stored_blocks_a": a.stored if a else 1, "stored_blocks_b": b.stored if b else rows_b,
        "density_a": a.density if a else 1.0, "density_b": b.density if b else 1.0,
    }  # fmt: skip
    if a is None:
        counts["products"] = counts["true_products"] = counts["groups"]
    elif b is None:
        counts["products"] = counts["true_products"] = a.stored
    else:
        counts["products"] = patterns.count_found(a.col_idx, b.found())
        counts["true_products"] = patterns.count_products(
            a.row_ptr, a.col_idx, b.row_ptr, b.col_idx
        )
    return counts


def _attention_counts(w: WorkloadSpec, blocks: Blocks | None) -> dict[str, float]:
    """Counts of attention; 4 * b * h * d * products * block_m * block_n are its FLOPs (10 instead
    of 4 for gradients), a dense one being one block a head, of which a causal one does a share. Of
    blocks that a window cuts, the products are the share of their scores that it leaves.
    """
    share = (w.seq_q + 1) / (2 * w.seq_q) if w.causal else 1.0
    products: float = blocks.stored if blocks else share
    if blocks and w.windowed:
        products = seen_scores(blocks, w) / (blocks.block_rows * blocks.block_cols)
    return {
        "b": w.batch, "h": w.heads, "q": w.seq_q, "k_len": w.seq_kv, "d": w.head_dim,
        "block_m": blocks.block_rows if blocks else w.seq_q,
        "block_n": blocks.block_cols if blocks else w.seq_kv,
        "stored_blocks_a": blocks.stored if blocks else 1,
        "density_a": blocks.density if blocks else share, "products": products,
        "true_products": products,
    }  # fmt: skip


def launch_facts(workload: WorkloadSpec, blocks: Blocks | None, blocks_b: Blocks | None) -> Facts:
    """Return facts of one launch.

    Its counts are what a FLOP formula may name of the problem; docs/claims.md explains each.
    """
    counts: dict[str, float]
    if workload.attends:
        flop, bytes_ = _attention(workload, blocks)
        counts = _attention_counts(workload, blocks)
    elif workload.operation == "tma_load":
        flop, bytes_ = _load(workload)
        counts = {"m": workload.m, "k": workload.k}
    elif workload.operation == "callable":
        flop, bytes_ = workload.counted(workload.flops), workload.counted(workload.bytes)
        counts = workload.numbers
    else:
        counts = _gemm_counts(workload, blocks, blocks_b)
        bytes_ = _gemm_bytes(workload, blocks, blocks_b)
        flop = int(2 * math.prod(counts[name] for name in OF_A_PRODUCT))
    if blocks is None:
        return Facts(flop, bytes_, None, None, counts)
    return Facts(flop, bytes_, blocks.stored, blocks.density, counts)
