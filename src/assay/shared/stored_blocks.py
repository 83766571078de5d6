"""Stored blocks of sparse matrices: what a workload's pattern and seed give, on host and device.

Pure: numpy and nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.shared import sparsity as patterns
from assay.shared.sparsity import Int32Array
from assay.shared.specs import PatternSpec, WorkloadSpec


@dataclass(frozen=True)
class Blocks:
    """Stored blocks of one matrix: a grid of block_rows x block_cols blocks in CSR form."""

    grid_rows: int
    grid_cols: int
    block_rows: int
    block_cols: int
    row_ptr: Int32Array
    col_idx: Int32Array
    search: str = "lower_bound"

    @property
    def stored(self) -> int:
        """Return the number of stored blocks."""
        return len(self.col_idx)

    @property
    def density(self) -> float:
        """Return stored blocks over all blocks of the grid."""
        return self.stored / (self.grid_rows * self.grid_cols)

    def found(self) -> Int32Array:
        """Return which stored block the kernel's search finds; [grid_rows, grid_cols], -1: none."""
        return patterns.searched_blocks(self.row_ptr, self.col_idx, self.grid_cols, self.search)

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Yield (block row, first stored block, end) of each block row."""
        for row in range(self.grid_rows):
            yield row, int(self.row_ptr[row]), int(self.row_ptr[row + 1])


def make_blocks(pattern: PatternSpec, rows: int, cols: int, seed: int, thrown: int = 0) -> Blocks:
    """Return the stored blocks of a ``rows`` x ``cols`` matrix under ``pattern``.

    ``thrown``: how many numbers of its generator other matrices took (``mt19937``).
    """
    grid = patterns.block_grid(rows, cols, pattern.block_rows, pattern.block_cols)
    row_ptr, col_idx = patterns.generate(pattern.kind, *grid, pattern.blocks_per_row, seed, thrown)
    shape = pattern.block_rows, pattern.block_cols
    return Blocks(*grid, *shape, row_ptr, col_idx, pattern.search)


def ragged_blocks(pattern: PatternSpec, grid_rows: int, grid_cols: int, seed: int) -> Blocks:
    """Return block rows of every length from none to full, with an empty one, in random order."""
    generator = np.random.Generator(np.random.PCG64(seed))
    lengths = generator.permutation(np.arange(grid_rows) % (grid_cols + 1))
    shape = pattern.block_rows, pattern.block_cols
    rows = patterns.chosen_rows(grid_cols, lengths, generator)
    return Blocks(grid_rows, grid_cols, *shape, *rows)


def scored(workload: WorkloadSpec) -> tuple[int, int]:
    """Return rows and columns of the matrix that a workload's first pattern is of: A, or the
    scores of attention.
    """
    w = workload
    return (w.seq_q, w.seq_kv) if w.attends else (w.m, w.k)


def workload_blocks(workload: WorkloadSpec, seed: int) -> tuple[Blocks | None, Blocks | None]:
    """Return stored blocks of A (or of the scores) and of B; B's pattern has the next seed.

    A program's own draw (``mt19937``) has the workload's seed, whatever the values are drawn by,
    and B's goes on where A's ended.
    """
    w = workload
    first = second = None
    if w.pattern is not None:
        own = w.pattern.kind == "mt19937"
        first = make_blocks(w.pattern, *scored(w), w.seed if own else seed)
    if w.pattern_b is not None:
        own, thrown = w.pattern_b.kind == "mt19937", first.stored if first else 0
        second = make_blocks(w.pattern_b, w.k, w.n, w.seed if own else seed + 1, thrown)
    return first, second
