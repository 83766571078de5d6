"""Sparsity patterns, generated the same way on host and device. Pure: numpy and nothing else.

A pattern is a CSR-like pair of int32 arrays ``(row_ptr, col_idx)`` over blocks; column indices rise
within a row, but where the kind is ``drawn`` or ``mt19937``. The generator is part of the protocol:
same arguments, same arrays, same digest.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]


def block_grid(rows: int, cols: int, block_rows: int, block_cols: int) -> tuple[int, int]:
    """Block rows and block columns that cover a ``rows`` x ``cols`` matrix (edges padded)."""
    return math.ceil(rows / block_rows), math.ceil(cols / block_cols)


def in_csr(columns: Sequence[NDArray[Any]]) -> tuple[Int32Array, Int32Array]:
    """Return the pattern of block rows, each given by its block columns."""
    row_ptr = np.concatenate(([0], np.cumsum([len(row) for row in columns])))
    return row_ptr.astype(np.int32), np.concatenate(columns).astype(np.int32)


def chosen_rows(
    grid_cols: int, lengths: Iterable[int], generator: np.random.Generator
) -> tuple[Int32Array, Int32Array]:
    """Return rows of these lengths, their columns uniform without replacement."""
    choose = partial(generator.choice, grid_cols, replace=False)
    return in_csr([np.sort(choose(size=length)) for length in lengths])


def random_rows(
    grid_rows: int, grid_cols: int, blocks_per_row: int, seed: int
) -> tuple[Int32Array, Int32Array]:
    """``blocks_per_row`` distinct columns, uniform without replacement, in every block row.

    Shapes: row_ptr [grid_rows + 1], col_idx [grid_rows * blocks_per_row].
    Raises ValueError when a row is asked for more blocks than it has.
    """
    if blocks_per_row > grid_cols:
        raise ValueError(f"{blocks_per_row} blocks a row do not fit {grid_cols} block columns")
    generator = np.random.Generator(np.random.PCG64(seed))
    return chosen_rows(grid_cols, [blocks_per_row] * grid_rows, generator)


def drawn_rows(
    grid_rows: int, grid_cols: int, blocks_per_row: int, seed: int
) -> tuple[Int32Array, Int32Array]:
    """``blocks_per_row`` columns in every block row as a random generator throws them: uniform with
    replacement, so some come twice, and unsorted.

    A kernel that looks for blocks by binary search misses some of these (see ``searched_blocks``).
    Shapes: row_ptr [grid_rows + 1], col_idx [grid_rows * blocks_per_row].
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    col_idx = generator.integers(grid_cols, size=grid_rows * blocks_per_row, dtype=np.int32)
    return np.arange(grid_rows + 1, dtype=np.int32) * np.int32(blocks_per_row), col_idx


def twister_rows(
    grid_rows: int, grid_cols: int, blocks_per_row: int, seed: int, thrown: int = 0
) -> tuple[Int32Array, Int32Array]:
    """Columns as ``drawn_rows`` has them, but from C++'s ``std::mt19937``: each is the remainder of
    its next number by ``grid_cols``, behind the first ``thrown``, which another matrix took.

    Shapes: row_ptr [grid_rows + 1], col_idx [grid_rows * blocks_per_row].
    """
    size = thrown + grid_rows * blocks_per_row
    numbers = np.random.RandomState(seed).randint(1 << 32, size=size, dtype=np.uint32)[thrown:]
    row_ptr = np.arange(grid_rows + 1, dtype=np.int32) * np.int32(blocks_per_row)
    return row_ptr, (numbers % grid_cols).astype(np.int32)


def ragged_rows(
    grid_rows: int, grid_cols: int, blocks_per_row: int, seed: int
) -> tuple[Int32Array, Int32Array]:
    """Rows of very different lengths: 0 to ``2 * blocks_per_row`` in even steps, in random order.

    The mean is ``blocks_per_row``, one row is empty; columns are uniform without replacement.
    Raises ValueError when the longest row does not fit.
    """
    if 2 * blocks_per_row > grid_cols:
        raise ValueError(f"{2 * blocks_per_row} blocks a row do not fit {grid_cols} block columns")
    generator = np.random.Generator(np.random.PCG64(seed))
    steps = np.arange(grid_rows, dtype=np.int64) * 2 * blocks_per_row
    lengths = generator.permutation(steps // max(grid_rows - 1, 1))
    # Rounding down takes from the mean what is given back here, one block a row.
    missing = grid_rows * blocks_per_row - int(lengths.sum())
    middle = np.flatnonzero((lengths > 0) & (lengths < 2 * blocks_per_row))
    lengths[middle[:missing]] += 1
    return chosen_rows(grid_cols, lengths, generator)


def sliding_window(
    grid_rows: int, grid_cols: int, blocks_per_row: int
) -> tuple[Int32Array, Int32Array]:
    """Return the ``blocks_per_row`` blocks that end at the diagonal; fewer in the first rows."""
    ends = ((row + 1, min(row + 1, grid_cols)) for row in range(grid_rows))
    return in_csr([np.arange(max(0, last - blocks_per_row), end) for last, end in ends])


def sliding_window_sinks(
    grid_rows: int, grid_cols: int, blocks_per_row: int, sinks: int = 1
) -> tuple[Int32Array, Int32Array]:
    """Return the first ``sinks`` blocks, those up to the diagonal, and a sliding window of the
    ``blocks_per_row - sinks`` blocks that end at the diagonal: attention sinks.

    Raises ValueError where the sinks leave the window no block.
    """
    if not 0 <= sinks < blocks_per_row:
        raise ValueError(f"{sinks} sinks leave a window of {blocks_per_row} blocks a row nothing")
    window = sliding_window(grid_rows, grid_cols, blocks_per_row - sinks)
    return in_csr(
        [
            np.union1d(window[1][begin:end], np.arange(min(sinks, row + 1, grid_cols)))
            for row, (begin, end) in enumerate(itertools.pairwise(window[0]))
        ]
    )


def strided(grid_rows: int, grid_cols: int, blocks_per_row: int) -> tuple[Int32Array, Int32Array]:
    """Return ``blocks_per_row`` evenly spaced columns in every block row, one further in each next
    row: the stride is ``grid_cols // blocks_per_row``, and row ``i`` begins at ``i`` modulo it.

    Where the stride divides the columns, the diagonal is among them. Raises ValueError when a row
    is asked for more blocks than it has.
    """
    if blocks_per_row > grid_cols:
        raise ValueError(f"{blocks_per_row} blocks a row do not fit {grid_cols} block columns")
    stride = grid_cols // blocks_per_row
    steps = np.arange(blocks_per_row, dtype=np.int32) * np.int32(stride)
    first = np.arange(grid_rows, dtype=np.int32) % np.int32(stride)
    row_ptr = np.arange(grid_rows + 1, dtype=np.int32) * np.int32(blocks_per_row)
    return row_ptr, (first[:, None] + steps[None, :]).reshape(-1).astype(np.int32)


DRAWN = {"random": random_rows, "drawn": drawn_rows, "ragged": ragged_rows}
REGULAR = {
    "sliding_window": sliding_window,
    "sliding_window_sinks": sliding_window_sinks,
    "strided": strided,
}


def generate(
    kind: str, grid_rows: int, grid_cols: int, blocks_per_row: int, seed: int, thrown: int = 0
) -> tuple[Int32Array, Int32Array]:
    """Pattern by the names of config/workloads: ``random``, ``drawn``, ``mt19937``, ``ragged``,
    ``sliding_window``, ``sliding_window_sinks`` (one block is the sink) or ``strided``. Raises
    ValueError for any other.
    """
    if kind == "mt19937":
        return twister_rows(grid_rows, grid_cols, blocks_per_row, seed, thrown)
    if kind in DRAWN:
        return DRAWN[kind](grid_rows, grid_cols, blocks_per_row, seed)
    if kind not in REGULAR:
        raise ValueError(f"unknown pattern {kind!r}")
    return REGULAR[kind](grid_rows, grid_cols, blocks_per_row)


def count_products(
    a_row_ptr: Int32Array, a_col_idx: Int32Array, b_row_ptr: Int32Array, b_col_idx: Int32Array
) -> int:
    """Block products of BSR x BSR: pairs of a stored A(i, k) and a stored B(k, j).

    Blocks that are stored twice count twice: their values add up.
    """
    row_lengths = np.diff(b_row_ptr)
    return int(row_lengths[a_col_idx].sum())


def columns_rise(row_ptr: Int32Array, col_idx: Int32Array) -> bool:
    """Return whether columns are sorted and distinct within every row."""
    rising = np.diff(col_idx) > 0
    # Between the last column of a row and the first of the next there is no order.
    borders = row_ptr[1:-1] - 1
    rising[borders[(borders >= 0) & (borders < len(rising))]] = True
    return bool(rising.all())


def searched_blocks(
    row_ptr: Int32Array, col_idx: Int32Array, grid_cols: int, search: str = "lower_bound"
) -> Int32Array:
    """Return which stored block a binary search finds: int32 [block rows, grid_cols], -1 for none.

    The searches are those of ``bsr_wmma.cu``, step by step: ``lower_bound`` closes in on the lower
    bound of the column in its row and compares once; ``first_hit`` compares at every step and ends
    at the first equal column. Where columns rise both find every stored block. Where they are
    unsorted each turns the wrong way at times, and of a column that is stored twice it finds one at
    most. Raises ValueError for another search.
    """
    begin, end, columns = _grid(row_ptr, col_idx, grid_cols)
    if search not in SEARCHES:
        raise ValueError(f"unknown search {search!r}")
    return SEARCHES[search](begin, end, columns).astype(np.int32)


def _grid(
    row_ptr: Int32Array, col_idx: Int32Array, grid_cols: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return each row's begin and end, per wanted column, and the columns with one more behind."""
    begin = np.repeat(row_ptr[:-1].astype(np.int64)[:, None], grid_cols, axis=1)
    end = np.repeat(row_ptr[1:].astype(np.int64)[:, None], grid_cols, axis=1)
    return begin, end, np.append(col_idx, -1).astype(np.int64)


def _lower_bound(begin: Int64Array, end: Int64Array, columns: Int64Array) -> Int64Array:
    wanted = np.arange(begin.shape[1], dtype=np.int64)[None, :]
    low, high = begin, end
    while (searching := low < high).any():
        middle = low + (high - low) // 2
        below = columns[np.minimum(middle, len(columns) - 1)] < wanted
        low = np.where(searching & below, middle + 1, low)
        high = np.where(searching & ~below, middle, high)
    return np.where((low < end) & (columns[low] == wanted), low, -1)


def _first_hit(begin: Int64Array, end: Int64Array, columns: Int64Array) -> Int64Array:
    wanted = np.arange(begin.shape[1], dtype=np.int64)[None, :]
    low, last = begin, end - 1
    found = np.full_like(begin, -1)
    while (searching := (low <= last) & (found < 0)).any():
        middle = np.where(searching, (low + last) // 2, 0)
        column = columns[middle]
        found = np.where(searching & (column == wanted), middle, found)
        low = np.where(searching & (column < wanted), middle + 1, low)
        last = np.where(searching & (column > wanted), middle - 1, last)
    return found


SEARCHES = {"lower_bound": _lower_bound, "first_hit": _first_hit}


def count_found(a_col_idx: Int32Array, found: Int32Array) -> int:
    """Block products that a search really does: for each stored block of A, all that it finds in
    the row of B that the block's column names.
    """
    return int((found >= 0).sum(axis=1)[a_col_idx].sum())
