"""Lists of key blocks for attention: which are full, which a window cuts, and what it leaves.

Pure: numpy and nothing else.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.shared.sparsity import Int32Array, Int64Array
from assay.shared.specs import WorkloadSpec
from assay.shared.stored_blocks import Blocks


@dataclass(frozen=True)
class BlockList:
    """Key blocks of each block row, as FlexAttention's BlockMask has them; unused places hold 0."""

    counts: Int32Array
    """[rows]"""
    columns: Int32Array
    """[rows, pitch]"""

    @property
    def pitch(self) -> int:
        """Return the places of a row; 0 where no row has a block."""
        return int(self.columns.shape[1])


def block_lists(blocks: Blocks, workload: WorkloadSpec) -> tuple[BlockList, BlockList]:
    """Return the full blocks, and those in which the workload's window hides scores."""
    rows, cut = _row_of_block(blocks), _cut(blocks, workload)
    return _listed(blocks, rows, ~cut), _listed(blocks, rows, cut)


def seen_scores(blocks: Blocks, workload: WorkloadSpec) -> int:
    """Return the scores of one head that are in a selected block and in the window."""
    height, width = _extents(blocks, workload)
    parts = np.stack([_offset(blocks, workload), height, width], axis=1)
    kinds, times = np.unique(parts, axis=0, return_counts=True)
    total: int = 0
    for kind, count in zip(kinds.tolist(), times.tolist(), strict=True):
        total += int(count) * _seen(workload, *kind)
    return total


def _row_of_block(blocks: Blocks) -> Int64Array:
    lengths = np.diff(blocks.row_ptr).astype(np.int64)
    return np.repeat(np.arange(blocks.grid_rows, dtype=np.int64), lengths)


def _extents(blocks: Blocks, workload: WorkloadSpec) -> tuple[Int64Array, Int64Array]:
    """Queries and keys of each stored block; the last ones may be cut off by the edge."""
    top = _row_of_block(blocks) * blocks.block_rows
    left = blocks.col_idx.astype(np.int64) * blocks.block_cols
    height = np.minimum(blocks.block_rows, workload.seq_q - top)
    return height, np.minimum(blocks.block_cols, workload.seq_kv - left)


def _offset(blocks: Blocks, workload: WorkloadSpec) -> Int64Array:
    """Place of each block's first key less that of its first query; the last of both are one."""
    first_query = _row_of_block(blocks) * blocks.block_rows + workload.seq_kv - workload.seq_q
    return blocks.col_idx.astype(np.int64) * blocks.block_cols - first_query


def _cut(blocks: Blocks, workload: WorkloadSpec) -> NDArray[np.bool_]:
    """Which stored blocks have a score that the window hides."""
    height, width = _extents(blocks, workload)
    offset, (least, most) = _offset(blocks, workload), _bounds(workload)
    cut: NDArray[np.bool_] = (offset - (height - 1) < least) | (offset + (width - 1) > most)
    return cut


def _seen(workload: WorkloadSpec, offset: int, height: int, width: int) -> int:
    place = offset + np.arange(width)[None, :] - np.arange(height)[:, None]
    least, most = _bounds(workload)
    return int(((place >= least) & (place <= most)).sum())


def _bounds(workload: WorkloadSpec) -> tuple[float, float]:
    """Return the least and the most that a key which counts may lie beyond its query."""
    left, right = workload.window_left, workload.window_right
    return -math.inf if left is None else -left, math.inf if right is None else right


def _listed(blocks: Blocks, rows: Int64Array, chosen: NDArray[np.bool_]) -> BlockList:
    counts = np.bincount(rows[chosen], minlength=blocks.grid_rows).astype(np.int32)
    columns = np.zeros((blocks.grid_rows, int(counts.max(initial=0))), dtype=np.int32)
    begins = np.cumsum(counts) - counts
    places = np.arange(int(chosen.sum())) - begins[rows[chosen]]
    columns[rows[chosen], places] = blocks.col_idx[chosen]
    return BlockList(counts, columns)
