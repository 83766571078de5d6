"""FLOP and byte formulas, one place for host and device. Pure: no imports beyond the library.

Headline FLOPs count stored blocks only ("nnz"). Softmax is not counted. Sources that counted
otherwise are converted by ``factor_to_nnz`` before anything is compared.
"""


def dense_gemm(m: int, n: int, k: int) -> int:
    """2 m n k."""
    return 2 * m * n * k


def grouped_gemm(groups: int, m: int, n: int, k: int) -> int:
    """2 * groups * m * n * k."""
    return groups * dense_gemm(m, n, k)


LOAD_TILE_COLS = 64
"""Columns of a tile of operation ``tma_load``: one sum for each row of each tile."""


def dense_attention(batch: int, heads: int, seq_q: int, seq_kv: int, head_dim: int) -> int:
    """4 B H Q K D: two products, softmax not counted."""
    return 4 * batch * heads * seq_q * seq_kv * head_dim


def cutlass_41(batch: int, heads: int, seq_q: int, seq_kv: int, head_dim: int, causal: bool) -> int:
    """Return what CUTLASS example 41 counts: per score column 2 D + 2 + 1 + 2 D + D, less one a
    row.

    Causal counts the lower triangle (row r has min(r + 1, seq_kv) columns).
    """
    short = min(seq_q, seq_kv) if causal else 0  # rows that end before the last column
    columns = short * (short + 1) // 2 + (seq_q - short) * seq_kv
    return batch * heads * (columns * (5 * head_dim + 3) - seq_q)
