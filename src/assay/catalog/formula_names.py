"""What a claim may name of a problem, in a formula for FLOPs; docs/claims.md says what each name
stands for.
"""

GEMM_SIZES = frozenset({"groups", "m", "n", "k"})
ATTENTION_SIZES = frozenset({"b", "h", "q", "k_len", "d"})
"""Batch, heads, queries, keys, width of a head."""
_BLOCKS = frozenset(
    {"block_m", "block_n", "stored_blocks_a", "density_a", "products", "true_products"}
)
_GEMM = GEMM_SIZES | _BLOCKS | {"block_k", "stored_blocks_b", "density_b"}
_ATTENTION = ATTENTION_SIZES | _BLOCKS
_LOAD = frozenset({"m", "k"})


def names_of_operation(operation: str) -> frozenset[str]:
    """Return the names of a benchmark arm's problem: the ``counts`` that its record has."""
    if operation.endswith("attention"):
        return _ATTENTION
    return _LOAD if operation == "tma_load" else _GEMM


def names_of_program(parser: str) -> frozenset[str]:
    """Return the names of the problem that an original program reports: its sizes alone."""
    if parser == "cutlass_43":
        return frozenset()
    return GEMM_SIZES if parser == "cutlass_57" else ATTENTION_SIZES
