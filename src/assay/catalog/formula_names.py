"""What a claim may name of a problem, in a formula for FLOPs (docs/claims.md says what each name
stands for), and of what an original program prints.
"""

from dataclasses import dataclass

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
    if "attention" in operation:
        return _ATTENTION
    return _LOAD if operation == "tma_load" else _GEMM


def names_of_program(parser: str) -> frozenset[str]:
    """Return the names of the problem that an original program reports: its sizes alone."""
    if parser in ("cutlass_43", "cutlass_47"):
        return frozenset(OUTPUTS[parser].sizes)
    return GEMM_SIZES if parser == "cutlass_57" else ATTENTION_SIZES


@dataclass(frozen=True)
class ProgramOutput:
    """The names of what an original program prints, as ``judging.cutlass_output`` reads it."""

    sizes: tuple[str, ...]
    figures: tuple[str, ...]
    """None of a program that prints a rate for each kernel that it was built with."""


OUTPUTS = {
    "cutlass_41": ProgramOutput(
        ("seq_length", "seq_length_kv", "head_size", "head_size_v", "head_number", "batch_size"),
        ("gflop_per_s", "ms"),
    ),
    "cutlass_43": ProgramOutput((), ("gflop_per_s", "ms")),
    "cutlass_47": ProgramOutput(("m", "n", "k"), ("gflop_per_s", "ms")),
    "cutlass_57": ProgramOutput(
        ("groups", "m", "n", "k"),
        tuple(
            f"{schedule}{shapes}_{unit}"
            for schedule in ("cooperative", "pingpong")
            for shapes in ("", "_device_shapes")
            for unit in ("ms", "tflop_per_s")
        ),
    ),
    "cutlass_88": ProgramOutput(("b", "h", "q", "k", "d", "causal"), ()),
}
"""By the name of the parser."""
