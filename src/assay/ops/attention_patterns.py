"""Patterns of attention as data: whole blocks by ``assay.shared.sparsity``, and windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from assay.ops.attention_arguments import SelectedBlocks
from assay.ops.checks import Tensor
from assay.ops.mask_bits import listed
from assay.shared.sparsity import block_grid, generate

Bools = NDArray[np.bool_]


def whole_blocks(
    kind: str, shape: tuple[int, int, int], blocks_per_row: int, seeds: Sequence[int]
) -> SelectedBlocks | None:
    """Return the blocks of a named pattern for each seed, one head each; ``shape``: queries, keys,
    block. Raises ValueError for a pattern that is unknown or does not fit.
    """
    queries, keys, block = shape
    rows, columns = block_grid(queries, keys, block, block)
    selected = np.zeros((len(seeds), rows, columns), dtype=bool)
    for head, seed in enumerate(seeds):
        row_ptr, col_idx = generate(kind, rows, columns, blocks_per_row, seed)
        selected[head, np.repeat(np.arange(rows), np.diff(row_ptr)), col_idx] = True
    return listed(torch.from_numpy(selected)[None])


@dataclass(frozen=True)
class Window:
    """A sliding window: key j counts for query i where -left <= j - (i + keys - queries) <= right,
    and where j < sinks as far as the right bound leaves it; None: no bound.
    """

    left: int | None
    right: int | None
    sinks: int

    def __post_init__(self) -> None:
        """Raise ValueError for a negative bound."""
        for name in ("left", "right", "sinks"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} is {value}, and cannot be negative")

    def mask_mod(self, queries: int, keys: int) -> Any:
        """Return it as FlexAttention's mask_mod."""

        def seen(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            distance = key - (query + keys - queries)
            near = distance >= (distance if self.left is None else -self.left)
            before = distance <= (distance if self.right is None else self.right)
            return (near | (key < self.sinks)) & before

        return seen


def window_blocks(
    window: Window, shape: tuple[int, int, int]
) -> tuple[SelectedBlocks | None, SelectedBlocks | None]:
    """Return the full and the partial blocks of a window; ``shape``: queries, keys, block."""
    queries, keys, block = shape
    rows, columns = block_grid(queries, keys, block, block)
    first = np.arange(rows)[:, None] * block + keys - queries
    last = np.minimum(first + block - 1, keys - 1)
    left = np.arange(columns)[None, :] * block
    right = np.minimum(left + block - 1, keys - 1)
    any_left, all_left = _left(window, first, last, left, right)
    any_right = (
        np.full_like(any_left, True) if window.right is None else left <= last + window.right
    )
    all_right = any_right if window.right is None else right <= first + window.right
    whole = (left + block <= keys) & np.full((rows, 1), True)
    some, full = any_left & any_right, all_left & all_right & whole
    partial = some & ~full
    return listed(torch.from_numpy(full)[None, None]), listed(torch.from_numpy(partial)[None, None])


def _left(window: Window, first: Any, last: Any, left: Any, right: Any) -> tuple[Bools, Bools]:
    """Return blocks with a score, and with no other, that the left bound and the sinks leave."""
    if window.left is None:
        every = np.full(np.broadcast_shapes(first.shape, left.shape), True)
        return every, every
    some = (right >= first - window.left) | (left < window.sinks)
    return some, (left >= last - window.left) | (right < window.sinks)
