"""FLOP formulas, one place for host and device. Pure: no imports beyond the library.

Headline FLOPs count stored blocks only ("nnz"). Softmax is not counted. Sources that counted
otherwise are converted (``judging.formulas``) before anything is compared.
"""

LOAD_TILE_COLS = 64
"""Columns of a tile of operation ``tma_load``: one sum for each row of each tile."""


def score_elements(seq_q: int, seq_kv: int, causal: bool) -> int:
    """Return the scores of one head; causal is the lower triangle: row r has min(r + 1, seq_kv)."""
    short = min(seq_q, seq_kv) if causal else 0  # rows that end before the last column
    return short * (short + 1) // 2 + (seq_q - short) * seq_kv


def cutlass_41(batch: int, heads: int, seq_q: int, seq_kv: int, head_dim: int, causal: bool) -> int:
    """Return what CUTLASS example 41 counts: per score element 2 D + 2 + 1 + 2 D + D, less one a
    row.
    """
    scores = score_elements(seq_q, seq_kv, causal)
    return batch * heads * (scores * (5 * head_dim + 3) - seq_q)
