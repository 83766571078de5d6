"""Attention's operands in FP8 (E4M3): a scale for 128 tokens of a head, and V by columns.

``kernels/block_sparse_attention/attention_fp8_call.cuh`` says what the kernel reads.
"""

import torch

from assay.ops.checks import Tensor

BLOCK = 128
"""Tokens of a head that share a scale."""
MOST = 448.0
"""Largest number of E4M3."""
E4M3 = torch.float8_e4m3fn
ORDER = (0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15)
"""Of 16 keys as they stand in a column of V."""


def quantise(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """Return a tensor [batches, heads, tokens, head_dim] in E4M3, and the scales of its blocks.

    Scales are float32 [batches, heads, ceil(tokens / 128)], above 0. What is stored, times its
    scale, is the nearest to what was given.
    """
    values = tensor.float()
    tokens = values.shape[2]
    padded = torch.nn.functional.pad(values, (0, 0, 0, -tokens % BLOCK))
    blocks = padded.unflatten(2, (-1, BLOCK))
    largest = blocks.abs().amax((3, 4))
    scale = torch.where(largest > 0, largest / MOST, torch.ones_like(largest))
    stored = (blocks / scale[..., None, None]).flatten(2, 3)[:, :, :tokens]
    return stored.clamp(-MOST, MOST).to(E4M3), scale


def restored(stored: Tensor, scale: Tensor) -> Tensor:
    """Return what ``quantise`` stored, as float32."""
    each = scale.repeat_interleave(BLOCK, 2)[:, :, : stored.shape[2], None]
    return stored.float() * each


def by_columns(v: Tensor) -> Tensor:
    """Return V in E4M3 as the kernel reads it, [batches, heads, head_dim, tokens], zeros behind the
    last token of the last block.
    """
    rows = torch.nn.functional.pad(v.view(torch.uint8), (0, 0, 0, -v.shape[2] % BLOCK))
    ordered = rows.unflatten(2, (-1, len(ORDER)))[:, :, :, list(ORDER)].flatten(2, 3)
    return ordered.transpose(2, 3).contiguous().view(E4M3)
