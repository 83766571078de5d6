"""Which scores of selected blocks count: the blocks of lists one by one, and their masks."""

from dataclasses import dataclass
from typing import Any

import torch

from assay.ops.attention_arguments import WORD, AttentionArguments, SelectedBlocks
from assay.ops.checks import Tensor


@dataclass(frozen=True)
class BlockPairs:
    """Blocks of scores, each of a block of queries and one of keys; int64 vectors of one length."""

    batch: Tensor
    head: Tensor
    row: Tensor
    column: Tensor
    """0 where there is no block."""
    place: Tensor
    """In the list: the index into its columns, flattened."""
    there: Tensor | None
    """Whether there is a block at all; None where there is one everywhere."""


@dataclass(frozen=True)
class ListedBlocks:
    """All blocks of one list for all batches and heads, also of those that share a mask."""

    call: AttentionArguments
    listed: SelectedBlocks
    places: Tensor
    """int64: those places of the flattened columns that are looked at."""
    all_there: bool

    def __len__(self) -> int:
        """Return the number of blocks, or of places for one where some hold none."""
        return int(self.places.shape[0]) * self._repeats[0] * self._repeats[1]

    @property
    def _repeats(self) -> tuple[int, int]:
        """Batches and heads that share one list."""
        batches, heads = self.call.mask_shape
        return self.call.q.shape[0] // batches, self.call.q.shape[1] // heads

    def pairs(self, begin: int, end: int) -> BlockPairs:
        """Return blocks ``begin`` to ``end``."""
        number = torch.arange(begin, min(end, len(self)), device=self.places.device)
        place = self.places[number % self.places.shape[0]]
        repeat = number // self.places.shape[0]
        _, heads, rows, pitch = self.listed.columns.shape
        row = place // pitch
        mask = row // rows
        # Where a mask is shared its own index is 0, where it is not the repeat is.
        batch = mask // heads + repeat // self._repeats[1]
        head = mask % heads + repeat % self._repeats[1]
        column = self.listed.columns.flatten()[place].long()
        if self.all_there:
            return BlockPairs(batch, head, row % rows, column, place, None)
        there = place % pitch < self.listed.counts.flatten()[row]
        column = torch.where(there, column, 0)
        return BlockPairs(batch, head, row % rows, column, place, there)


def listed_blocks(call: AttentionArguments, listed: SelectedBlocks, *, wait: bool) -> ListedBlocks:
    """Return the blocks of one of the lists.

    To know how many there are, the host has to ``wait`` for the device once; it need not where
    every place of the list is looked at, also those that hold no block.
    """
    columns = listed.columns
    if not wait:
        places = torch.arange(columns.numel(), device=columns.device)
        return ListedBlocks(call, listed, places, all_there=False)
    slots = torch.arange(columns.shape[3], device=columns.device)
    there = slots < listed.counts[..., None]
    return ListedBlocks(call, listed, there.flatten().nonzero()[:, 0], all_there=True)


def counting_scores(call: AttentionArguments, listed: SelectedBlocks, pairs: BlockPairs) -> Tensor:
    """Return which scores of blocks count: bool [blocks, block, block], queries by keys."""
    inside = torch.arange(call.block, device=pairs.row.device)
    query = pairs.row[:, None] * call.block + inside
    key = pairs.column[:, None] * call.block + inside
    queries, keys = call.q.shape[2], call.k.shape[2]
    counts = (query < queries)[:, :, None] & (key < keys)[:, None, :]
    if pairs.there is not None:
        counts &= pairs.there[:, None, None]
    if listed is call.partial:
        counts &= _seen(call, pairs.place, query, key)
    return counts


def _seen(call: AttentionArguments, place: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """Scores of partial blocks that bits or a window leave."""
    if call.bits is not None:
        return unpacked(call.bits.flatten(0, 3)[place])
    distance = key[:, None, :] - (query[:, :, None] + call.k.shape[2] - call.q.shape[2])
    return within(distance, call.window_left, call.window_right)


def within(distance: Tensor, left: int, right: int) -> Tensor:
    """Return -left <= distance <= right; below 0: no bound."""
    seen = torch.ones_like(distance, dtype=torch.bool)
    if left >= 0:
        seen &= distance >= -left
    if right >= 0:
        seen &= distance <= right
    return seen


def packed(seen: Tensor) -> Tensor:
    """Return the bits of bool [..., keys]: int32 [..., keys / 32], the first key lowest."""
    places = torch.arange(WORD, dtype=torch.int32, device=seen.device)
    words = seen.unflatten(-1, (-1, WORD)).int() << places
    return words.sum(dim=-1, dtype=torch.int32)


def unpacked(bits: Tensor) -> Tensor:
    """Return bool [..., keys] of int32 [..., keys / 32]; the inverse of ``packed``."""
    places = torch.arange(WORD, dtype=torch.int32, device=bits.device)
    return ((bits[..., None] >> places) & 1).bool().flatten(-2)


def check_block_lists(call: AttentionArguments) -> None:
    """Raise ValueError unless the lists' contents name blocks that there are, none twice.

    The reference asks this of its arguments. A GPU's kernels do not: reading the lists would wait
    for the GPU at every call.
    """
    seen = torch.zeros((*call.mask_shape, call.rows, call.block_columns), dtype=torch.int32)
    for name in ("full", "partial"):
        listed: Any = getattr(call, name)
        if listed is None:
            continue
        pitch = listed.columns.shape[3]
        if bool(((listed.counts < 0) | (listed.counts > pitch)).any()):
            raise ValueError(f"{name}_counts must lie in [0, {pitch}], which a row has places for")
        blocks = listed_blocks(call, listed, wait=True)
        columns = listed.columns.flatten()[blocks.places].long()
        if bool(((columns < 0) | (columns >= call.block_columns)).any()):
            raise ValueError(f"{name}_columns must lie in [0, {call.block_columns})")
        where = blocks.places // pitch * call.block_columns + columns
        seen.view(-1).index_add_(0, where.cpu(), torch.ones_like(where, dtype=torch.int32).cpu())
    if bool((seen > 1).any()):
        raise ValueError("a block is listed twice in one row")
