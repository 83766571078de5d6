"""FlexAttention's ``mask_mod``, evaluated into lists of blocks and into bits, some at a time."""

import importlib
from collections.abc import Callable
from typing import Any

import torch

from assay.ops.attention_arguments import WORD, SelectedBlocks
from assay.ops.attention_scores import packed
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


def partial_bits(mask_mod: MaskMod, listed: SelectedBlocks, shape: tuple[int, int, int]) -> Tensor:
    """Return the bits of listed blocks, int32 [..., pitch, block, block / 32].

    ``shape``: queries, keys, block. Scores past the last query or key, and places without a block,
    have no bit. Nothing waits for the GPU.
    """
    queries, keys, block = shape
    _, heads, rows, pitch = listed.columns.shape
    device = listed.columns.device
    places = torch.arange(listed.columns.numel(), device=device)
    inside = torch.arange(block, device=device)
    bits = torch.zeros((len(places), block, block // WORD), dtype=torch.int32, device=device)
    step = max(1, CHUNK_SCORES // block**2)
    for begin in range(0, len(places), step):
        place = places[begin : begin + step]
        mask = place // pitch // rows
        there = place % pitch < listed.counts.flatten()[place // pitch]
        column = torch.where(there, listed.columns.flatten()[place].long(), 0)
        query = (place // pitch % rows)[:, None] * block + inside
        key = column[:, None] * block + inside
        seen = _evaluated(
            mask_mod, mask // heads, mask % heads,
            query.clamp(max=queries - 1), key.clamp(max=keys - 1), over_blocks=True,
        )  # fmt: skip
        seen = seen & there[:, None, None]
        seen = seen & (query < queries)[:, :, None] & (key < keys)[:, None, :]
        bits[begin : begin + step] = packed(seen)
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
    order = torch.argsort(selected.int(), dim=3, descending=True, stable=True)
    return SelectedBlocks(counts, order[..., :longest].int().contiguous())
