"""The operators in plain PyTorch: for the CPU, and for what no kernel computes (gradients).

Half-width types are summed in float32 on a CPU, and by the matrix library on a GPU, which does the
same; each element is rounded once. FP8 is widened first.
"""

import itertools
from typing import Any

import torch

from assay.ops.checks import FP8, Tensor, output_dtype

CHUNK_BYTES = 2**28
"""Of each gathered copy that a gradient needs; a launch on this much fills any GPU."""


def check_pattern(row_ptr: Tensor, col_idx: Tensor, block_cols: int) -> None:
    """Raise ValueError unless the index arrays describe a pattern ``block_cols`` blocks wide.

    The reference asks this of its arguments. A GPU's kernels do not: reading the arrays would wait
    for the GPU at every call, so call it yourself where a pattern comes from outside.
    """
    pointers, columns = row_ptr.tolist(), col_idx.tolist()
    if not pointers or pointers[0] != 0 or pointers[-1] != len(columns):
        raise ValueError("row_ptr must start at 0 and end at the number of stored blocks")
    if any(end < begin for begin, end in itertools.pairwise(pointers)):
        raise ValueError("row_ptr must not fall")
    if columns and (min(columns) < 0 or max(columns) >= block_cols):
        raise ValueError(f"col_idx must lie in [0, {block_cols})")
    for begin, end in itertools.pairwise(pointers):
        if any(right <= left for left, right in itertools.pairwise(columns[begin:end])):
            raise ValueError("col_idx must rise within a block row")


def _wide(tensor: Tensor) -> Tensor:
    """In a type that sums are exact enough in."""
    if tensor.dtype == FP8 or (tensor.dtype.itemsize < 4 and tensor.device.type == "cpu"):
        return tensor.float()
    return tensor


def product(values: Tensor, row_ptr: Tensor, col_idx: Tensor, b: Tensor) -> Tensor:
    """C[m,n] = A_bsr[m,k] b[k,n], one block row at a time."""
    _, block_rows, block_cols = values.shape
    check_pattern(row_ptr, col_idx, b.shape[0] // block_cols)
    grid_rows, n = row_ptr.shape[0] - 1, b.shape[1]
    result = b.new_zeros((grid_rows, block_rows, n), dtype=output_dtype(b.dtype))
    strips = _wide(b).reshape(b.shape[0] // block_cols, block_cols, n)
    blocks, columns = _wide(values), col_idx.long()
    for row, (begin, end) in enumerate(itertools.pairwise(row_ptr.tolist())):
        if begin == end:
            continue
        left = blocks[begin:end].transpose(0, 1).reshape(block_rows, -1)
        result[row] = left @ strips[columns[begin:end]].reshape(left.shape[1], n)
    return result.reshape(grid_rows * block_rows, n)


def densify(values: Tensor, row_ptr: Tensor, col_idx: Tensor, cols: int) -> Tensor:
    """Return the whole matrix, [block rows * block_rows, cols]; zeros between stored blocks."""
    stored, block_rows, block_cols = values.shape
    grid_rows, grid_cols = row_ptr.shape[0] - 1, cols // block_cols
    grid = values.new_zeros((grid_rows, grid_cols, block_rows, block_cols))
    grid[rows_of(row_ptr, stored), col_idx.long()] = values
    return grid.transpose(1, 2).reshape(grid_rows * block_rows, cols)


def sparse_product(
    a_values: Tensor,
    a_row_ptr: Tensor,
    a_col_idx: Tensor,
    b_values: Tensor,
    b_row_ptr: Tensor,
    b_col_idx: Tensor,
    n: int,
) -> Tensor:
    """C[m,n] = A_bsr[m,k] B_bsr[k,n], with B made dense."""
    check_pattern(b_row_ptr, b_col_idx, n // b_values.shape[2])
    b = densify(_wide(b_values), b_row_ptr, b_col_idx, n)
    result = product(_wide(a_values), a_row_ptr, a_col_idx, b)
    return result.to(output_dtype(a_values.dtype))


def rows_of(row_ptr: Tensor, stored: int) -> Tensor:
    """Return the block row of each stored block, int64 [stored]; the GPU is not waited for."""
    counts = (row_ptr[1:] - row_ptr[:-1]).long()
    rows = torch.arange(counts.shape[0], device=row_ptr.device)
    return torch.repeat_interleave(rows, counts, output_size=stored)


def transposed(
    values: Tensor, row_ptr: Tensor, col_idx: Tensor, grid_cols: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the BSR arrays of A^T; ``grid_cols`` is the number of A's block columns."""
    order = torch.argsort(col_idx, stable=True)
    edges = torch.arange(grid_cols + 1, dtype=col_idx.dtype, device=col_idx.device)
    pointers = torch.searchsorted(col_idx[order], edges).int()
    columns = rows_of(row_ptr, col_idx.shape[0])[order].int()
    return values[order].transpose(1, 2).contiguous(), pointers, columns


def sampled(
    left: Tensor, right: Tensor, row_ptr: Tensor, col_idx: Tensor, block_rows: int, block_cols: int
) -> Tensor:
    """Stored blocks of left[m,n] right[k,n]^T: [stored, block_rows, block_cols], of left's type.

    ``left`` in strips of ``block_rows``, ``right`` in strips of ``block_cols``.
    """
    n, stored = left.shape[1], col_idx.shape[0]
    result = left.new_zeros((stored, block_rows, block_cols))
    if n == 0 or stored == 0:
        return result
    lefts = _wide(left).reshape(-1, block_rows, n)
    rights = _wide(right).reshape(-1, block_cols, n)
    rows, columns = rows_of(row_ptr, stored), col_idx.long()
    step = max(1, CHUNK_BYTES // (lefts.element_size() * n * max(block_rows, block_cols)))
    for begin in range(0, stored, step):
        part = slice(begin, begin + step)
        result[part] = torch.bmm(lefts[rows[part]], rights[columns[part]].transpose(1, 2))
    return result


def blocks_at(dense: Tensor, row_ptr: Tensor, col_idx: Tensor, like: Any) -> Tensor:
    """Return the blocks of a dense matrix that a pattern stores; ``like``: [., rows, cols]."""
    block_rows, block_cols = like[1], like[2]
    grid = dense.reshape(-1, block_rows, dense.shape[1] // block_cols, block_cols)
    return grid.transpose(1, 2)[rows_of(row_ptr, col_idx.shape[0]), col_idx.long()]
