"""FlexAttention's ``mask_mod``, evaluated into lists of blocks and into bits, some at a time."""

import importlib
from collections.abc import Callable
from typing import Any

import torch

from assay.ops.attention_arguments import WORD, AttentionArguments, SelectedBlocks
from assay.ops.attention_scores import counting_scores, listed_blocks, packed
from assay.ops.checks import Tensor

MaskMod = Callable[..., Any]
"""Of batch, head, query and key, each a tensor without extents; gives a bool of the same kind."""
CHUNK_SCORES = 2**24
"""Scores that are evaluated at a time; each takes about ten bytes."""


def _each_score(mask_mod: MaskMod, over_blocks: bool) -> MaskMod:
    """Return ``mask_mod`` of vectors of queries and keys: all pairs of both.

    ``over_blocks``: of several batches, heads, vectors of queries and of keys, which go together.
    Else every batch goes with every head.
    """
    pairs: MaskMod = torch.vmap(mask_mod, in_dims=(None, None, None, 0))
    pairs = torch.vmap(pairs, in_dims=(None, None, 0, None))
    if over_blocks:
        pairs = torch.vmap(pairs, in_dims=(0, 0, 0, 0))
    else:
        pairs = torch.vmap(pairs, in_dims=(None, 0, None, None))
        pairs = torch.vmap(pairs, in_dims=(0, None, None, None))
    return pairs


def _evaluated(mask_mod: MaskMod, *places: Tensor, over_blocks: bool) -> Tensor:
    # So that a mask_mod may look into tables by these indices, as in FlexAttention's create_mask.
    tracing = importlib.import_module("torch._dynamo._trace_wrapped_higher_order_op")
    with tracing.TransformGetItemToIndex():
        return _each_score(mask_mod, over_blocks)(*places)


def partial_bits(mask_mod: MaskMod, call: AttentionArguments, listed: SelectedBlocks) -> Tensor:
    """Return the bits of listed blocks, int32 [..., pitch, block, block / 32].

    ``call``: one with this list as its partial one, which has no bits yet, and no window. Scores
    past the last query or key, and places without a block, have no bit. Nothing waits for the GPU.
    """
    block, device = call.block, listed.columns.device
    blocks = listed_blocks(call, listed, wait=False)
    inside = torch.arange(block, device=device)
    bits = torch.zeros((len(blocks), block, block // WORD), dtype=torch.int32, device=device)
    step = max(1, CHUNK_SCORES // block**2)
    for begin in range(0, len(blocks), step):
        at = blocks.pairs(begin, begin + step)
        query = (at.row[:, None] * block + inside).clamp(max=call.q.shape[2] - 1)
        key = (at.column[:, None] * block + inside).clamp(max=call.k.shape[2] - 1)
        seen = _evaluated(mask_mod, at.batch, at.head, query, key, over_blocks=True)
        bits[begin : begin + step] = packed(seen & counting_scores(call, listed, at))
    return bits.reshape(*listed.columns.shape, block, block // WORD)


def blocks_of(
    mask_mod: MaskMod, shape: tuple[int, int, int, int], block: int, device: Any
) -> tuple[SelectedBlocks | None, SelectedBlocks | None]:
    """Return the full and the partial blocks of a mask; None where there is none of a kind.

    ``shape``: batches, heads, queries, keys. A block that the edge cuts is never full.
    """
    batches, heads, queries, keys = shape
    batch, head = torch.arange(batches, device=device), torch.arange(heads, device=device)
    columns = -(-keys // block)
    key = torch.arange(columns * block, device=device)
    sums = []
    step = max(1, CHUNK_SCORES // (batches * heads * block * len(key))) * block
    for begin in range(0, queries, step):
        end = min(begin + step, -(-queries // block) * block)
        query = torch.arange(begin, end, device=device)
        seen = _evaluated(
            mask_mod, batch, head, query.clamp(max=queries - 1), key.clamp(max=keys - 1),
            over_blocks=False,
        )  # fmt: skip
        seen = seen & (query < queries)[:, None] & (key < keys)
        sums.append(seen.unflatten(3, (columns, block)).unflatten(2, (-1, block)).sum((3, 5)))
    counted = torch.cat(sums, dim=2)
    full = counted == block**2
    return listed(full), listed((counted > 0) & ~full)


def listed(selected: Tensor) -> SelectedBlocks | None:
    """Return the list of bool [batches, heads, rows, columns]; None where it selects nothing."""
    counts = selected.sum(dim=3, dtype=torch.int32)
    longest = int(counts.max())
    if not longest:
        return None
    at = selected.nonzero(as_tuple=True)
    places = selected.cumsum(dim=3, dtype=torch.int32)[at].long() - 1
    columns = counts.new_zeros((*counts.shape, longest))
    columns[(*at[:3], places)] = at[3].int()
    return SelectedBlocks(counts, columns)
