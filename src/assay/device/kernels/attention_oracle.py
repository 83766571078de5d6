"""Oracle of attention, dense and block-sparse: float64 on upcast inputs, some rows at a time."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from assay.device.kernels.inputs import Inputs, Tensor
from assay.shared.specs import WorkloadSpec

CHUNK_BYTES = 2**30
"""Largest float64 temporary of dense attention; two or three of them are needed at once."""
FLASH_FACTOR = 2.0
"""FlashAttention's tests: the error may be this many times that of a low-precision reference."""


@dataclass(frozen=True)
class Attended:
    """What attention gives, in float32 (rounded from float64)."""

    output: Tensor
    """[batch, heads, seq_q, head_dim]; 0 where no key counts."""
    log_sum_exp: Tensor
    """[batch, heads, seq_q], natural logarithm; -infinity where no key counts."""


def attend(inputs: Inputs, dtype: Any = torch.float64) -> Attended:
    """Return attention in ``dtype``: float64 for the oracle, the inputs' own for a reference that
    loses precision at every step, as FlashAttention's tests have it.
    """
    q = inputs.tensors["q"]
    output = torch.zeros(q.shape, dtype=torch.float32, device=inputs.device)
    sums = torch.full(q.shape[:3], -math.inf, dtype=torch.float32, device=inputs.device)
    for part in _parts(inputs):
        output[part.where], sums[part.where] = _attend(inputs, part, dtype)
    return Attended(output, sums)


@dataclass(frozen=True)
class Limits:
    """The largest errors that FlashAttention's rule allows."""

    output: float
    log_sum_exp: float


def low_precision_limits(inputs: Inputs, right: Attended) -> Limits:
    """Return FlashAttention's limits: twice the error of attention computed in the inputs' own
    type, and for outputs twice what rounding near the results costs.
    """
    low = attend(inputs, inputs.dtype)
    rounded = right.output.to(inputs.dtype)
    rounding = float(((rounded + 0.3 - 0.3) - rounded).abs().max())
    output = float((low.output - right.output).abs().max())
    known = torch.isfinite(right.log_sum_exp)
    sums = (low.log_sum_exp - right.log_sum_exp)[known].abs()
    return Limits(
        FLASH_FACTOR * (output + rounding),
        FLASH_FACTOR * (float(sums.max()) if sums.numel() else 0.0),
    )


@dataclass(frozen=True)
class _Queries:
    """Some queries, and the keys that they may see; before a window or a causal mask."""

    batch: slice
    heads: slice
    rows: slice
    keys: Tensor | slice

    @property
    def where(self) -> tuple[slice, slice, slice]:
        """The queries' place in a result."""
        return self.batch, self.heads, self.rows


def _parts(inputs: Inputs) -> Iterator[_Queries]:
    """Block rows of all heads, or rows of one head of dense attention. Rows that see no key have
    none."""
    w, blocks = inputs.workload, inputs.blocks
    whole = slice(None)
    if blocks is None:
        step = max(1, CHUNK_BYTES // (8 * w.seq_kv))
        for batch in range(w.batch):
            for head in range(w.heads):
                for begin in range(0, w.seq_q, step):
                    rows = slice(begin, min(begin + step, w.seq_q))
                    yield _Queries(slice(batch, batch + 1), slice(head, head + 1), rows, whole)
        return
    for row, begin, end in blocks.rows():
        first = torch.from_numpy(blocks.col_idx[begin:end].astype("int64")) * blocks.block_cols
        keys = (first[:, None] + torch.arange(blocks.block_cols)).flatten()
        top = row * blocks.block_rows
        rows = slice(top, min(top + blocks.block_rows, w.seq_q))
        yield _Queries(whole, whole, rows, keys[keys < w.seq_kv].to(inputs.device))


def _attend(inputs: Inputs, part: _Queries, dtype: Any) -> tuple[Tensor, Tensor]:
    t, w = inputs.tensors, inputs.workload
    q = t["q"][part.where].to(dtype)
    k, v = (_of_heads(t[name], part, w)[:, :, part.keys].to(dtype) for name in ("k", "v"))
    if k.shape[2] == 0:
        return torch.zeros_like(q), q.new_full(q.shape[:3], -math.inf)
    group = q.shape[1] // k.shape[1]
    grouped = q.unflatten(1, (k.shape[1], group))
    scores = (grouped @ k.transpose(-1, -2)[:, :, None]) / math.sqrt(w.head_dim)
    hidden = _hidden(w, part, k.shape[2], q.device)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    sums = torch.logsumexp(scores.to(_wide(dtype)), dim=-1, keepdim=True)
    weights = torch.softmax(scores, dim=-1)
    if hidden is not None:  # a row without keys has no weights
        weights = weights.masked_fill(sums == -math.inf, 0.0)
    output = weights @ v[:, :, None]
    return output.flatten(1, 2), sums.squeeze(-1).flatten(1, 2)


def _wide(dtype: Any) -> Any:
    return torch.float64 if dtype is torch.float64 else torch.float32


def _of_heads(tensor: Tensor, part: _Queries, w: WorkloadSpec) -> Tensor:
    """K or V of the part's batches and heads."""
    heads = part.heads
    if heads.start is not None:
        head = heads.start // (w.heads // w.key_heads)
        heads = slice(head, head + 1)
    return tensor[part.batch, heads]


def _hidden(w: WorkloadSpec, part: _Queries, count: int, device: Any) -> Tensor | None:
    """Which scores do not count: bool [rows, keys], or None where all do."""
    if not (w.causal or w.windowed):
        return None
    rows = torch.arange(part.rows.start, part.rows.stop, device=device) + w.seq_kv - w.seq_q
    keys = torch.arange(count, device=device) if isinstance(part.keys, slice) else part.keys
    place = keys[None, :] - rows[:, None]
    left, right = w.window_left, 0 if w.causal else w.window_right
    hidden = torch.zeros_like(place, dtype=torch.bool)
    if left is not None:
        hidden |= place < -left
    if right is not None:
        hidden |= place > right
    return hidden
