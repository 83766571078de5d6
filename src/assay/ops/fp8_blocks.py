"""Attention's operands in FP8 (E4M3): a scale for 128 tokens of a head, and V by columns.

``kernels/block_sparse_attention/attention_fp8_call.cuh`` says what the kernel reads.
"""

import torch

from assay.ops.checks import Tensor
from assay.shared.attention_call import COLUMNS, SCALES

BLOCK = 128
"""Tokens of a head that share a scale."""
MOST = 448.0
"""Largest number of E4M3."""
E4M3 = torch.float8_e4m3fn
SMALLEST = 2.0**-40
"""Of a block's scale, as a share of its head's largest: the kernel multiplies by their ratio."""
DIGITS = 16
"""A scale has four bits, as E4M3 has: what both mean, bfloat16 holds without rounding."""


def quantise(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """Return a tensor [batches, heads, tokens, head_dim] in E4M3, and the scales of its blocks.

    Scales are float32 [batches, heads, ceil(tokens / 128)], above 0. What is stored, times its
    scale, is the nearest to what was given; what is infinite becomes NaN.
    """
    values = tensor.float()
    tokens = values.shape[2]
    padded = torch.nn.functional.pad(values, (0, 0, 0, -tokens % BLOCK))
    blocks = padded.unflatten(2, (-1, BLOCK))
    finite = blocks.isfinite()
    largest = torch.where(finite, blocks.abs(), 0.0).amax((3, 4)) / MOST
    largest = torch.maximum(largest, SMALLEST * largest.amax(2, keepdim=True))
    fraction, exponent = torch.frexp(torch.where(largest > 0, largest, 1.0))
    scale = torch.ldexp(torch.ceil(DIGITS * fraction) / DIGITS, exponent)
    stored = torch.where(finite, blocks / scale[..., None, None], torch.nan)
    return stored.flatten(2, 3)[:, :, :tokens].clamp(-MOST, MOST).to(E4M3), scale


def restored(stored: Tensor, scale: Tensor) -> Tensor:
    """Return what ``quantise`` stored, as float32."""
    each = scale.repeat_interleave(BLOCK, 2)[:, :, : stored.shape[2], None]
    return stored.float() * each


def operands(q: Tensor, k: Tensor, v: Tensor) -> dict[str, Tensor]:
    """Return what the kernel reads of Q, K and V, by the names of its call."""
    (q, q_scale), (k, k_scale), (v, v_scale) = map(quantise, (q, k, v))
    scales = dict(zip(SCALES, (q_scale, k_scale, v_scale, v_scale.amax(2)), strict=True))
    return {"q": q, "k": k, COLUMNS: by_columns(v), **scales}


def by_columns(v: Tensor) -> Tensor:
    """Return V in E4M3 as the kernel reads it, [batches, heads, head_dim, tokens], zeros behind the
    last token of the last block. Of 16 tokens 0 1 8 9 2 3 10 11 4 5 12 13 6 7 14 15 stand so.
    """
    rows = torch.nn.functional.pad(v.view(torch.uint8), (0, 0, 0, -v.shape[2] % BLOCK))
    ordered = rows.unflatten(2, (-1, 2, 4, 2)).transpose(3, 4).flatten(2, 5)
    return ordered.transpose(2, 3).contiguous().view(E4M3)
