"""Which scores an attention computes, as the lists that ``block_sparse_attention`` takes.

A mask is made once and used by as many calls as one likes: making it may wait for the GPU (to learn
how long the longest row is), using it never does.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from assay.ops import attention_patterns as patterns
from assay.ops.attention_arguments import SelectedBlocks
from assay.ops.attention_scores import unpacked, within
from assay.ops.checks import Tensor
from assay.ops.mask_bits import MaskMod, blocks_of, partial_bits
from assay.shared.attention_call import NO_BOUND, bounded


@dataclass(frozen=True)
class AttentionMask:
    """Full blocks, of which every score counts, and partial blocks, of which bits or a window say
    which scores do. Keys past the last one never count.
    """

    queries: int
    keys: int
    block: int
    full: SelectedBlocks | None
    partial: SelectedBlocks | None
    bits: Tensor | None = None
    """int32 [mask_batches, mask_heads, rows, pitch, block, block / 32]: bit j % 32 of word j / 32
    of row i is query i and key j of a partial block."""
    window_left: int = NO_BOUND
    """Where there are no bits, key j of a partial block counts for query i if
    -left <= j - (i + keys - queries) <= right; below 0: no bound."""
    window_right: int = NO_BOUND
    order: Tensor | None = None
    """int32 [mask_batches, mask_heads, rows]: which row a kernel begins first, for balance alone;
    None: as they come."""

    @classmethod
    def from_block_mask(cls, block_mask: Any, *, longest: int | None = None) -> "AttentionMask":
        """Return the mask of a FlexAttention BlockMask; its ``mask_mod`` is evaluated once, for the
        partial blocks, into bits.

        ``longest``: how many partial blocks a row holds at most; where it is given, nothing waits
        for the GPU, and rows must not be longer. Raises ValueError for blocks that are not square.
        """
        rows, columns = block_mask.BLOCK_SIZE
        if rows != columns:
            raise ValueError(f"the BlockMask's blocks are {rows} x {columns}; ours are square")
        queries, keys = block_mask.seq_lengths
        listed = _listed(block_mask.kv_num_blocks, block_mask.kv_indices, longest)
        full = None
        if block_mask.full_kv_num_blocks is not None:
            room = None if longest is None else block_mask.full_kv_indices.shape[-1]
            full = _listed(block_mask.full_kv_num_blocks, block_mask.full_kv_indices, room)
        without = cls(queries, keys, rows, full, listed)
        if _hides_nothing(block_mask.mask_mod):
            made = without if full is not None else replace(without, full=listed, partial=None)
            return made._with_order()
        return without._with_bits(block_mask.mask_mod)

    @classmethod
    def from_mask_mod(
        cls,
        mask_mod: MaskMod,
        queries: int,
        keys: int,
        *,
        batches: int = 1,
        heads: int = 1,
        block: int = 128,
        device: Any = "cpu",
    ) -> "AttentionMask":
        """Return the mask of ``mask_mod(batch, head, query, key)``, which FlexAttention takes too.

        ``batches`` and ``heads`` are 1 where it looks at neither. It is evaluated for some block
        rows at a time, so that the whole mask never lies in memory.
        """
        full, partial = blocks_of(mask_mod, (batches, heads, queries, keys), block, device)
        return cls(queries, keys, block, full, partial)._with_bits(mask_mod)

    @classmethod
    def pattern(
        cls,
        kind: str,
        queries: int,
        keys: int,
        blocks_per_row: int,
        *,
        block: int = 128,
        seed: int = 0,
        heads: int = 1,
        device: Any = "cpu",
    ) -> "AttentionMask":
        """Return whole blocks by the name of one of this project's patterns: ``random``,
        ``sliding_window``, ``sliding_window_sinks``, ``strided`` (``assay.shared.sparsity``).

        Above one, ``heads`` have patterns of their own, by seeds one after another. Raises
        ValueError for a pattern that is unknown or does not fit.
        """
        full = patterns.whole_blocks(
            kind, (queries, keys, block), blocks_per_row, range(seed, seed + heads)
        )
        return cls(queries, keys, block, _to(full, device), None)

    @classmethod
    def window(
        cls,
        queries: int,
        keys: int,
        *,
        left: int | None = None,
        right: int | None = 0,
        sinks: int = 0,
        block: int = 128,
        device: Any = "cpu",
    ) -> "AttentionMask":
        """Return a sliding window: key j counts for query i where
        -left <= j - (i + keys - queries) <= right, and None is no bound. Causal as it stands.

        Of ``sinks`` first keys those that the right bound leaves count for every query. Raises
        ValueError for a negative bound.
        """
        bounds = patterns.Window(left, right, sinks)
        full, partial = patterns.window_blocks(bounds, (queries, keys, block))
        made = cls(queries, keys, block, _to(full, device), _to(partial, device))
        if sinks:
            return made._with_bits(bounds.mask_mod(queries, keys))
        return replace(
            made,
            window_left=NO_BOUND if left is None else left,
            window_right=NO_BOUND if right is None else right,
        )

    @classmethod
    def documents(cls, ids: Tensor, *, causal: bool = True, block: int = 128) -> "AttentionMask":
        """Return the mask of packed documents: a token sees those of the same id, and if
        ``causal`` none behind it. ``ids``: [length] or [batches, length], on the GPU or not.
        """
        table = ids if ids.dim() == 2 else ids[None]

        def same(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            alike = table[batch, query] == table[batch, key]
            return alike & (key <= query) if causal else alike

        batches, length = table.shape
        return cls.from_mask_mod(
            same, length, length, batches=batches, block=block, device=ids.device
        )

    def _with_bits(self, mask_mod: MaskMod) -> "AttentionMask":
        if self.partial is None:
            return self._with_order()
        shape = self.queries, self.keys, self.block
        bits = partial_bits(mask_mod, self.partial, shape)
        return replace(self, bits=bits)._with_order()

    def _with_order(self) -> "AttentionMask":
        """Longest rows first. Kernels order the rows of windows themselves."""
        lists = [listed.counts for listed in (self.full, self.partial) if listed is not None]
        if not lists:
            return self
        lengths = torch.stack(lists).sum(dim=0)
        order = torch.argsort(lengths, dim=2, descending=True, stable=True)
        return replace(self, order=order.int().contiguous())

    def with_room(self, pitch: int) -> "AttentionMask":
        """Return the same mask with places for ``pitch`` blocks in every row of its lists, so that
        other blocks can be written into them while a CUDA graph holds their addresses.

        Raises ValueError where a list is longer.
        """
        return replace(
            self,
            full=_roomy(self.full, pitch),
            partial=_roomy(self.partial, pitch),
            bits=None if self.bits is None else _filled_up(self.bits, 3, pitch),
        )

    def to(self, device: Any) -> "AttentionMask":
        """Return the mask on a device."""
        bits, order = (
            None if part is None else part.to(device) for part in (self.bits, self.order)
        )
        full, partial = _to(self.full, device), _to(self.partial, device)
        return replace(self, full=full, partial=partial, bits=bits, order=order)

    @property
    def windowed(self) -> bool:
        """Return whether a window hides scores of partial blocks."""
        return bounded(self.window_left, self.window_right)

    @property
    def arguments(self) -> dict[str, Any]:
        """Return what ``torch.ops.assay.block_sparse_attention`` takes beside q, k, v and scale."""
        full, partial = self.full, self.partial
        return {
            "full_counts": None if full is None else full.counts,
            "full_columns": None if full is None else full.columns,
            "partial_counts": None if partial is None else partial.counts,
            "partial_columns": None if partial is None else partial.columns,
            "partial_bits": self.bits,
            "order": self.order,
            "block": self.block,
            "window_left": self.window_left,
            "window_right": self.window_right,
        }

    def dense(self) -> Tensor:
        """Return the whole mask, bool [mask_batches, mask_heads, queries, keys]; for small ones."""
        rows, columns = -(-self.queries // self.block), -(-self.keys // self.block)
        device = self._lists[0].counts.device if self._lists else None
        seen = torch.zeros(
            (*self._shape, rows, columns, self.block, self.block), dtype=torch.bool, device=device
        )
        for listed in self._lists:
            slots = torch.arange(listed.columns.shape[3], device=device)
            at = (slots < listed.counts[..., None]).nonzero().unbind(dim=1)
            batch, head, row, _ = at
            column = listed.columns[at].long()
            seen[batch, head, row, column] |= self._seen(listed, at, row, column)
        whole = seen.transpose(3, 4).flatten(4, 5).flatten(2, 3)
        return whole[:, :, : self.queries, : self.keys]

    def _seen(self, listed: SelectedBlocks, at: Any, row: Tensor, column: Tensor) -> Tensor:
        """Scores that count in blocks of a list, [blocks, block, block]; or one for all."""
        if listed is not self.partial:
            return torch.ones((), dtype=torch.bool, device=row.device)
        if self.bits is not None:
            return unpacked(self.bits[at])
        inside = torch.arange(self.block, device=row.device)
        query = row[:, None] * self.block + inside
        key = column[:, None] * self.block + inside
        distance = key[:, None, :] - (query[:, :, None] + self.keys - self.queries)
        return within(distance, self.window_left, self.window_right)

    @property
    def _lists(self) -> list[SelectedBlocks]:
        return [listed for listed in (self.full, self.partial) if listed is not None]

    @property
    def _shape(self) -> tuple[int, int]:
        """Batches and heads that have blocks of their own."""
        return tuple(self._lists[0].counts.shape[:2]) if self._lists else (1, 1)


def _listed(counts: Tensor, columns: Tensor, longest: int | None) -> SelectedBlocks:
    """A list of a BlockMask, cut to its longest row. Its leading extents may be missing."""
    while counts.dim() < 3:
        counts, columns = counts[None], columns[None]
    pitch = int(counts.max()) if longest is None else min(longest, columns.shape[3])
    return SelectedBlocks(counts.int().contiguous(), columns[..., :pitch].int().contiguous())


def _hides_nothing(mask_mod: Callable[..., Any]) -> bool:
    """Return whether it is what FlexAttention puts where no mask_mod is given."""
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    return mask_mod is flex.noop_mask


def _to(listed: SelectedBlocks | None, device: Any) -> SelectedBlocks | None:
    if listed is None:
        return None
    return SelectedBlocks(listed.counts.to(device), listed.columns.to(device))


def _roomy(listed: SelectedBlocks | None, pitch: int) -> SelectedBlocks | None:
    if listed is None:
        return None
    return SelectedBlocks(listed.counts, _filled_up(listed.columns, 3, pitch))


def _filled_up(tensor: Tensor, dim: int, extent: int) -> Tensor:
    """The tensor with zeros behind, ``extent`` long in one dimension."""
    if tensor.shape[dim] > extent:
        raise ValueError(f"a row has {tensor.shape[dim]} places, which is more than {extent}")
    shape = list(tensor.shape)
    shape[dim] = extent - tensor.shape[dim]
    return torch.cat((tensor, tensor.new_zeros(shape)), dim=dim)
