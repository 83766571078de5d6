"""Oracle of both operations on the CPU: densify in float64, then multiply. Pure numpy.

A BSR matrix is ``values`` [stored_blocks, block_rows, block_cols], ``row_ptr`` int32
[block_row_count + 1] and ``col_idx`` int32 [stored_blocks], rising within a block row. A block row
may be empty. Matrices are whole numbers of blocks.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

Float64Array = NDArray[np.float64]


def check_pattern(row_ptr: NDArray[np.int32], col_idx: NDArray[np.int32], block_cols: int) -> None:
    """Raise ValueError unless the arrays describe a pattern ``block_cols`` blocks wide."""
    if row_ptr.ndim != 1 or len(row_ptr) < 1 or row_ptr[0] != 0 or row_ptr[-1] != len(col_idx):
        raise ValueError("row_ptr must start at 0 and end at the number of stored blocks")
    if np.any(np.diff(row_ptr) < 0):
        raise ValueError("row_ptr must not fall")
    if len(col_idx) and (col_idx.min() < 0 or col_idx.max() >= block_cols):
        raise ValueError(f"col_idx must lie in [0, {block_cols})")
    for begin, end in itertools.pairwise(row_ptr):
        if np.any(np.diff(col_idx[begin:end]) <= 0):
            raise ValueError("col_idx must rise within a block row")


def densify(
    values: NDArray[np.floating],
    row_ptr: NDArray[np.int32],
    col_idx: NDArray[np.int32],
    cols: int,
) -> Float64Array:
    """The dense matrix [block_row_count * block_rows, cols] in float64; zeros where not stored."""
    stored, block_rows, block_cols = values.shape
    if cols % block_cols:
        raise ValueError(f"{cols} columns are not a whole number of blocks of {block_cols}")
    check_pattern(row_ptr, col_idx, cols // block_cols)
    if stored != len(col_idx):
        raise ValueError(f"{stored} stored blocks, {len(col_idx)} column indices")
    grid_rows, grid_cols = len(row_ptr) - 1, cols // block_cols
    tiles = np.zeros((grid_rows, grid_cols, block_rows, block_cols))
    rows = np.repeat(np.arange(grid_rows), np.diff(row_ptr))
    tiles[rows, col_idx] = values
    return tiles.transpose(0, 2, 1, 3).reshape(grid_rows * block_rows, cols)


def bsr_gemm(
    a_values: NDArray[np.floating],
    a_row_ptr: NDArray[np.int32],
    a_col_idx: NDArray[np.int32],
    b: NDArray[np.floating],
) -> Float64Array:
    """C[m,n] = A_bsr[m,k] B[k,n] in float64."""
    return densify(a_values, a_row_ptr, a_col_idx, b.shape[0]) @ b.astype(np.float64)


def bsr_bsr_gemm(
    a_values: NDArray[np.floating],
    a_row_ptr: NDArray[np.int32],
    a_col_idx: NDArray[np.int32],
    b_values: NDArray[np.floating],
    b_row_ptr: NDArray[np.int32],
    b_col_idx: NDArray[np.int32],
    n: int,
) -> Float64Array:
    """C[m,n] = A_bsr[m,k] B_bsr[k,n] in float64; B's blocks are as high as A's are wide."""
    if a_values.shape[2] != b_values.shape[1]:
        raise ValueError("a block of A must be as wide as a block of B is high")
    b = densify(b_values, b_row_ptr, b_col_idx, n)
    return bsr_gemm(a_values, a_row_ptr, a_col_idx, b)
