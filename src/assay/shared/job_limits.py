"""Demands on the fields of a job, beyond their types: known names, and least values."""

from typing import Any

OPERATIONS = (
    "bsr_gemm", "bsr_bsr_gemm", "dense_gemm", "grouped_gemm", "dense_attention",
    "block_sparse_attention", "tma_load", "callable",
)  # fmt: skip
DTYPES = ("float16", "bfloat16", "float8_e4m3", "float32")
DISTRIBUTIONS = ("normal", "zeros", "unwritten", "own")


def require_one_of(known: tuple[str, ...], **given: str) -> None:
    """Raise ValueError for a value that is not known, with its name."""
    for name, value in given.items():
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, is {value!r}")


def require_at_least(least: float, spec: Any, *names: str) -> None:
    """Raise ValueError for a field that is less, with its name; None is none."""
    for name in names:
        value = getattr(spec, name)
        if value is not None and value < least:
            raise ValueError(f"{name} must be at least {least}, is {value}")


def require_positive(spec: Any, *names: str) -> None:
    """Raise ValueError for a field that is 0 or less, with its name; None is none."""
    for name in names:
        value = getattr(spec, name)
        if value is not None and value <= 0:
            raise ValueError(f"{name} must be more than 0, is {value}")
