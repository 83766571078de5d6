"""Attention with a FlexAttention BlockMask, by this project's kernels."""

from typing import Any

import torch

from assay.ops.attention_mask import AttentionMask
from assay.ops.checks import Tensor


def flex_block_sparse_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_mask: Any,
    scale: float | None = None,
    return_lse: bool = False,
) -> Any:
    """Return attention as ``flex_attention(q, k, v, block_mask=block_mask, scale=scale)`` does.

    Shapes: q [batches, heads, queries, head_dim], k and v with kv_heads, of which several heads of
    queries may share one, and keys; the result is as q. ``block_mask``: a BlockMask, or the
    AttentionMask that was made of one; of a BlockMask it is made in every call, which takes longer
    and waits for the GPU. With ``return_lse`` a pair: the result and the natural logarithm of the
    sums, [batches, heads, queries]. Raises ValueError for a mask of other lengths.
    """
    made = isinstance(block_mask, AttentionMask)
    mask = block_mask if made else AttentionMask.from_block_mask(block_mask)
    for what, length, tensor in (("queries", mask.queries, q), ("keys", mask.keys, k)):
        # A BlockMask that was made of lists alone speaks of whole blocks; a window is one of ends.
        rounded = -(-tensor.shape[2] // mask.block) * mask.block
        fitting = (tensor.shape[2],) if mask.windowed else (tensor.shape[2], rounded)
        if length not in fitting:
            raise ValueError(f"the mask is for {length} {what}, not for {tensor.shape[2]}")
    o, lse = torch.ops.assay.block_sparse_attention(q, k, v, **mask.arguments, scale=scale)
    return (o, lse) if return_lse else o
