"""Which scores an attention computes, as the lists that ``block_sparse_attention`` takes.

A mask is made once and used by as many calls as one likes: making it may wait for the GPU (to learn
how long the longest row is), using it never does.
"""

import importlib
from dataclasses import dataclass, replace
from typing import Any

import torch

from assay.ops import attention_patterns as patterns
from assay.ops.attention_arguments import AttentionArguments, SelectedBlocks
from assay.ops.attention_scores import counting_scores, listed_blocks
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
        flex = importlib.import_module("torch.nn.attention.flex_attention")
        if block_mask.mask_mod is flex.noop_mask:  # what stands where none is given
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
        bits = partial_bits(mask_mod, self._call, self.partial)
        return replace(self, bits=bits)._with_order()

    def _with_order(self) -> "AttentionMask":
        """Longest rows first. Kernels order the rows of windows themselves."""
        if not self._lists:
            return self
        lengths = torch.stack([listed.counts for listed in self._lists]).sum(dim=0)
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
            bits=None if self.bits is None else _filled_up(self.bits, pitch),
        )

    def to(self, device: Any) -> "AttentionMask":
        """Return the mask on a device."""
        bits, order = (
            part if part is None else part.to(device) for part in (self.bits, self.order)
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
        call = self._call
        grid = call.rows, call.block_columns, self.block, self.block
        seen = torch.zeros((*call.mask_shape, *grid), dtype=torch.bool, device=call.q.device)
        for listed in call.lists:
            blocks = listed_blocks(call, listed, wait=True)
            at = blocks.pairs(0, len(blocks))
            seen[at.batch, at.head, at.row, at.column] |= counting_scores(call, listed, at)
        whole = seen.transpose(3, 4).flatten(4, 5).flatten(2, 3)
        return whole[:, :, : self.queries, : self.keys]

    @property
    def _call(self) -> AttentionArguments:
        """A call with this mask, of tensors that hold nothing, for batches and heads of its own."""
        counts = [listed.counts for listed in self._lists]
        shape, device = (counts[0].shape[:2], counts[0].device) if counts else ((1, 1), "cpu")
        q, k = (
            torch.empty(*shape, length, 0, device=device) for length in (self.queries, self.keys)
        )
        return AttentionArguments(
            q, k, k, self.full, self.partial, self.bits, None, self.block, 1.0,
            self.window_left, self.window_right,
        )  # fmt: skip

    @property
    def _lists(self) -> list[SelectedBlocks]:
        return [listed for listed in (self.full, self.partial) if listed is not None]


def _listed(counts: Tensor, columns: Tensor, longest: int | None) -> SelectedBlocks:
    """A list of a BlockMask, cut to its longest row. Its leading extents may be missing."""
    while counts.dim() < 3:
        counts, columns = counts[None], columns[None]
    pitch = int(counts.max()) if longest is None else min(longest, columns.shape[3])
    return SelectedBlocks(counts.int().contiguous(), columns[..., :pitch].int().contiguous())


def _to(listed: SelectedBlocks | None, device: Any) -> SelectedBlocks | None:
    if listed is None:
        return None
    return SelectedBlocks(listed.counts.to(device), listed.columns.to(device))


def _roomy(listed: SelectedBlocks | None, pitch: int) -> SelectedBlocks | None:
    if listed is None:
        return None
    return SelectedBlocks(listed.counts, _filled_up(listed.columns, pitch))


def _filled_up(tensor: Tensor, pitch: int) -> Tensor:
    """The tensor with zeros behind, for rows of ``pitch`` places."""
    places = tensor.shape[3]
    if places > pitch:
        raise ValueError(f"a row has {places} places, which is more than {pitch}")
    more = tensor.new_zeros((*tensor.shape[:3], pitch - places, *tensor.shape[4:]))
    return torch.cat((tensor, more), dim=3)
