"""Checks of the operators' arguments, without a look at the arrays' contents.

All of it holds for fake tensors too, so that torch.compile says the same sentences.
"""

from dataclasses import dataclass
from typing import Any

import torch

from assay.shared.counting import counted

Tensor = Any
"""torch.Tensor; mypy sees no torch."""

FP8 = torch.float8_e4m3fn
NAMES = {torch.float16: "float16", torch.bfloat16: "bfloat16", FP8: "float8_e4m3"}
"""Element types that kernels are for, under the name that workloads give them."""
REFERENCE_ONLY = (torch.float32, torch.float64)
"""Element types that only the reference computes."""


class WrongIndexType(TypeError):
    """An index array is of another type than the kernels read."""


class NotContiguous(ValueError):
    """A tensor does not lie in memory as the kernels read it."""


class NoKernel(RuntimeError):
    """No loaded kernel computes this case on this GPU."""


@dataclass(frozen=True)
class Shape:
    """The dense extents of a product and what its result is made of."""

    m: Any
    n: Any
    k: Any
    """Integers, or symbols of torch.compile."""
    dtype: Any


def output_dtype(dtype: Any) -> Any:
    """FP8 products are bfloat16; all others have the type of their operands."""
    return torch.bfloat16 if dtype == FP8 else dtype


def check_bsr(name: str, values: Tensor, row_ptr: Tensor, col_idx: Tensor) -> None:
    """The three arrays of a BSR matrix. Raises ValueError or TypeError with one sentence."""
    if values.dim() != 3:
        raise ValueError(
            f"{name}_values must be [stored_blocks, block_rows, block_cols]; it has "
            f"{counted(values.dim(), 'dimension')}"
        )
    _check_pattern_arrays(f"{name}_", row_ptr, col_idx)
    require_contiguous(f"{name}_values", values)
    if values.dtype not in NAMES and values.dtype not in REFERENCE_ONLY:
        raise TypeError(f"{name}_values is {values.dtype}, which no kernel multiplies")
    if values.shape[1] < 1 or values.shape[2] < 1:
        raise ValueError(f"{name}_values has blocks of {values.shape[1]} x {values.shape[2]}")
    if values.shape[0] != col_idx.shape[0]:
        raise ValueError(
            f"{name}_values holds {counted(values.shape[0], 'block')}, "
            f"{name}_col_idx {col_idx.shape[0]}"
        )


def _check_pattern_arrays(prefix: str, row_ptr: Tensor, col_idx: Tensor) -> None:
    """The index arrays, but for what stands in them."""
    for part, tensor in (("row_ptr", row_ptr), ("col_idx", col_idx)):
        if tensor.dim() != 1:
            raise ValueError(f"{prefix}{part} must be a vector; it has {tensor.dim()} dimensions")
        if tensor.dtype != torch.int32:
            raise WrongIndexType(
                f"{prefix}{part} is {tensor.dtype}; the kernels read torch.int32, which .int() "
                "gives"
            )
        require_contiguous(f"{prefix}{part}", tensor)
    if row_ptr.shape[0] < 1:
        raise ValueError(f"{prefix}row_ptr is empty; it holds one entry more than block rows")


def check_gemm(a_values: Tensor, a_row_ptr: Tensor, a_col_idx: Tensor, b: Tensor) -> Shape:
    """Return the arguments of bsr_gemm. Raises ValueError or TypeError with one sentence."""
    _check_operands(a_values, a_row_ptr, a_col_idx, b)
    k, block = b.shape[0], a_values.shape[2]
    _require_whole(f"b has {counted(k, 'row')}", k, block)
    m = (a_row_ptr.shape[0] - 1) * a_values.shape[1]
    return Shape(m, b.shape[1], k, output_dtype(b.dtype))


def check_transposed(
    a_values: Tensor, a_row_ptr: Tensor, a_col_idx: Tensor, b: Tensor, k: Any
) -> Shape:
    """As ``check_gemm``, of bsr_gemm_transposed."""
    _check_operands(a_values, a_row_ptr, a_col_idx, b)
    rows, block = (a_row_ptr.shape[0] - 1) * a_values.shape[1], a_values.shape[2]
    if b.shape[0] != rows:
        raise ValueError(
            f"b has {counted(b.shape[0], 'row')}, a {rows}: A^T B needs as many of both"
        )
    _require_whole(f"k is {k}", k, block)
    return Shape(k, b.shape[1], rows, output_dtype(b.dtype))


def check_sampled(
    left: Tensor, right: Tensor, row_ptr: Tensor, col_idx: Tensor, block_rows: Any, block_cols: Any
) -> None:
    """The arguments of bsr_sampled. Raises ValueError or TypeError with one sentence."""
    _check_pattern_arrays("", row_ptr, col_idx)
    require_one_device({"left": left, "right": right, "row_ptr": row_ptr, "col_idx": col_idx})
    if left.dim() != 2 or right.dim() != 2:
        raise ValueError(
            f"left and right must be matrices; they have {left.dim()} and "
            f"{counted(right.dim(), 'dimension')}"
        )
    if left.dtype != right.dtype:
        raise TypeError(f"left is {left.dtype}, right {right.dtype}: they must be alike")
    if left.dtype == FP8 or (left.dtype not in NAMES and left.dtype not in REFERENCE_ONLY):
        raise TypeError(f"left is {left.dtype}, which has no gradient here")
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"left has {counted(left.shape[1], 'column')}, right {right.shape[1]}")
    if block_rows < 1 or block_cols < 1:
        raise ValueError(f"blocks are {block_rows} x {block_cols}")
    rows = (row_ptr.shape[0] - 1) * block_rows
    if left.shape[0] != rows:
        raise ValueError(f"left has {counted(left.shape[0], 'row')}, the pattern {rows}")
    _require_whole(f"right has {counted(right.shape[0], 'row')}", right.shape[0], block_cols)


def _check_operands(a_values: Tensor, a_row_ptr: Tensor, a_col_idx: Tensor, b: Tensor) -> None:
    """A in BSR beside a dense B, but for their extents."""
    check_bsr("a", a_values, a_row_ptr, a_col_idx)
    require_one_device(
        {"a_values": a_values, "a_row_ptr": a_row_ptr, "a_col_idx": a_col_idx, "b": b}
    )
    if b.dim() != 2:
        raise ValueError(f"b must be a matrix; it has {counted(b.dim(), 'dimension')}")
    if b.dtype != a_values.dtype:
        raise TypeError(f"a_values is {a_values.dtype}, b {b.dtype}: they must be alike")
    if b.dtype == FP8:
        if not b.t().is_contiguous():
            raise ValueError(
                "b in FP8 must be the transpose of a contiguous [n, k] tensor: the kernels read "
                "it along k (b.t().contiguous().t() makes one)"
            )
    else:
        require_contiguous("b", b)


def check_bsr_bsr(
    a_values: Tensor,
    a_row_ptr: Tensor,
    a_col_idx: Tensor,
    b_values: Tensor,
    b_row_ptr: Tensor,
    b_col_idx: Tensor,
    n: Any,
) -> Shape:
    """Return the arguments of bsr_bsr_gemm. Raises ValueError or TypeError with one sentence."""
    check_bsr("a", a_values, a_row_ptr, a_col_idx)
    check_bsr("b", b_values, b_row_ptr, b_col_idx)
    require_one_device(
        {
            "a_values": a_values, "a_row_ptr": a_row_ptr, "a_col_idx": a_col_idx,
            "b_values": b_values, "b_row_ptr": b_row_ptr, "b_col_idx": b_col_idx,
        }
    )  # fmt: skip
    if b_values.dtype != a_values.dtype:
        raise TypeError(
            f"a_values is {a_values.dtype}, b_values {b_values.dtype}: they must be alike"
        )
    if a_values.shape[2] != b_values.shape[1]:
        raise ValueError(
            f"blocks of a are {a_values.shape[2]} wide, blocks of b {b_values.shape[1]} high: "
            "they must meet"
        )
    _require_whole(f"n is {n}", n, b_values.shape[2])
    m = (a_row_ptr.shape[0] - 1) * a_values.shape[1]
    k = (b_row_ptr.shape[0] - 1) * b_values.shape[1]
    return Shape(m, n, k, output_dtype(a_values.dtype))


def _require_whole(what: str, length: Any, block: Any) -> None:
    if length < 0 or length % block != 0:
        raise ValueError(f"{what}, which is no whole number of blocks {block} wide")


def require_contiguous(name: str, tensor: Tensor) -> None:
    """Raise NotContiguous for a tensor that does not lie in memory without gaps."""
    if not tensor.is_contiguous():
        raise NotContiguous(f"{name} is not contiguous; .contiguous() gives a copy that is")


def require_one_device(tensors: dict[str, Tensor]) -> None:
    """Raise ValueError for tensors of several devices."""
    (first, one), *others = tensors.items()
    for name, tensor in others:
        if tensor.device != one.device:
            raise ValueError(f"{first} is on {one.device}, {name} on {tensor.device}")
