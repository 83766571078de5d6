"""Oracle of attention, dense and block-sparse, and of its gradients: float64 on upcast inputs, some
rows at a time.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from assay.device.kernels.inputs import QKV, Inputs, Tensor
from assay.ops import fp8_blocks
from assay.shared.specs import WorkloadSpec
from assay.shared.stored_blocks import Blocks

CHUNK_BYTES = 2**30
"""Largest float64 temporary; two or three of them are needed at once, of gradients ten."""
GRADIENT_SHARE = 4
"""By which gradients' temporaries are smaller: arms are checked side by side."""
FLASH_FACTOR = 2.0
"""FlashAttention's tests: the error may be this many times that of a low-precision reference."""


@dataclass(frozen=True)
class Attended:
    """What attention gives, in float32 (rounded from float64)."""

    output: Tensor
    """[batch, heads, rows, head_dim], of ``Inputs.checked_rows``; 0 where no key counts."""
    log_sum_exp: Tensor
    """[batch, heads, rows], natural logarithm; -infinity where no key counts."""


def attend(inputs: Inputs, dtype: Any = torch.float64) -> Attended:
    """Return attention in ``dtype``: float64 for the oracle, the inputs' own for a reference that
    loses precision at every step, as FlashAttention's tests have it.
    """
    inputs = _meant(inputs)
    shape = inputs.checked(inputs.tensors["q"]).shape
    output = torch.zeros(shape, dtype=torch.float32, device=inputs.device)
    sums = torch.full(shape[:3], -math.inf, dtype=torch.float32, device=inputs.device)
    for part in _parts(inputs):
        values, logs = _attend(inputs, part, dtype)
        output[part.where], sums[part.where] = values.float(), logs.float()
    return Attended(output, sums)


def _meant(inputs: Inputs) -> Inputs:
    """Return inputs with Q, K and V as FP8 means them, in float32; others as they are."""
    t = inputs.tensors
    if t["q"].element_size() > 1:
        return inputs
    scales = {name: t.get(f"{name}_scale") for name in QKV}
    meant = {
        name: t[name].float() if scale is None else fp8_blocks.restored(t[name], scale)
        for name, scale in scales.items()
    }
    return replace(inputs, tensors={**t, **meant})


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
    rounded = right.output.to(inputs.output_dtype)
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
    """Groups of queries, and the keys that each group may see; before a window or a causal mask."""

    batch: slice
    heads: slice
    where: tuple[slice, slice, Tensor]
    """Their place in a result."""
    rows: Tensor
    """int64 [groups, rows]: positions of queries."""
    keys: Tensor | None
    """int64 [groups, keys]: positions of keys, or None where each group may see all."""


def _parts(inputs: Inputs) -> Iterator[_Queries]:
    """Block rows of all heads, or rows of one head of dense attention. Rows that see no key have
    none."""
    w, blocks, device, whole = inputs.workload, inputs.blocks, inputs.device, slice(None)
    if blocks is None:
        rows = inputs.checked_rows
        rows = torch.arange(w.seq_q, device=device) if rows is None else rows
        places = torch.arange(len(rows), device=device)
        step = max(1, CHUNK_BYTES // (8 * w.seq_kv))
        for batch in range(w.batch):
            for head in range(w.heads):
                of = slice(batch, batch + 1), slice(head, head + 1)
                for chosen, place in zip(rows.split(step), places.split(step), strict=True):
                    yield _Queries(*of, (*of, place[None]), chosen[None], None)
        return
    for rows, keys in _alike(blocks, w):
        widest = max(rows.shape[1], w.head_dim)
        room = CHUNK_BYTES // GRADIENT_SHARE if w.differentiates else CHUNK_BYTES
        step = max(1, room // (8 * w.batch * w.heads * max(1, keys.shape[1]) * widest))
        for chosen, seen in zip(rows.split(step), keys.split(step), strict=True):
            where = whole, whole, chosen.to(device)
            yield _Queries(whole, whole, where, where[2], seen.to(device))


def _alike(blocks: Blocks, w: WorkloadSpec) -> Iterator[tuple[Tensor, Tensor]]:
    """Block rows with as many queries and as many keys: int64 [groups, rows], [groups, keys]."""
    found: dict[tuple[int, int], list[tuple[Tensor, Tensor]]] = {}
    inside = torch.arange(blocks.block_cols)
    for row, begin, end in blocks.rows():
        first = torch.from_numpy(blocks.col_idx[begin:end].astype("int64")) * blocks.block_cols
        keys = (first[:, None] + inside).flatten()
        keys = keys[keys < w.seq_kv]
        top = row * blocks.block_rows
        rows = torch.arange(top, min(top + blocks.block_rows, w.seq_q))
        found.setdefault((len(rows), len(keys)), []).append((rows, keys))
    for pairs in found.values():
        yield torch.stack([rows for rows, _ in pairs]), torch.stack([keys for _, keys in pairs])


def _attend(inputs: Inputs, part: _Queries, dtype: Any) -> tuple[Tensor, Tensor]:
    """Return outputs [batches, heads, groups, rows, head_dim] and their log-sum-exp."""
    t, w = inputs.tensors, inputs.workload
    in_fp8 = dtype is fp8_blocks.E4M3
    dtype = torch.float32 if in_fp8 else dtype
    q = t["q"][part.batch, part.heads, part.rows].to(dtype)
    k, v = (_of_heads(t[name], part, w).to(dtype) for name in ("k", "v"))
    if k.shape[3] == 0:
        return torch.zeros_like(q), q.new_full(q.shape[:4], -math.inf)
    grouped = q.unflatten(1, (k.shape[1], q.shape[1] // k.shape[1]))
    scores = (grouped @ k.transpose(-1, -2)[:, :, None]) / math.sqrt(w.head_dim)
    hidden = _hidden(w, part, q.device)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    wide = scores if dtype is torch.float64 else scores.float()
    sums = torch.logsumexp(wide, dim=-1, keepdim=True)
    weights = torch.softmax(scores, dim=-1)
    if in_fp8:  # rounded as the second product takes it, in units of which 448 is one
        weights = (fp8_blocks.MOST * weights).to(fp8_blocks.E4M3).float() / fp8_blocks.MOST
    if hidden is not None:  # a row without keys has no weights
        weights = weights.masked_fill(sums == -math.inf, 0.0)
    output = weights @ v[:, :, None]
    return output.flatten(1, 2), sums.squeeze(-1).flatten(1, 2)


def _of_heads(tensor: Tensor, part: _Queries, w: WorkloadSpec) -> Tensor:
    """K or V of the part's batches and heads: [batches, heads, groups or 1, keys, head_dim]."""
    heads = part.heads
    if heads.start is not None:
        head = heads.start // (w.heads // w.key_heads)
        heads = slice(head, head + 1)
    if part.keys is None:
        return tensor[part.batch, heads, None]
    return tensor[part.batch, heads, part.keys]


def _hidden(w: WorkloadSpec, part: _Queries, device: Any) -> Tensor | None:
    """Which scores do not count: bool [groups, rows, keys], or None where all do."""
    if not (w.causal or w.windowed):
        return None
    keys = torch.arange(w.seq_kv, device=device)[None] if part.keys is None else part.keys
    place = keys[:, None, :] - (part.rows + w.seq_kv - w.seq_q)[:, :, None]
    left, right = w.window_left, 0 if w.causal else w.window_right
    hidden = torch.zeros_like(place, dtype=torch.bool)
    if left is not None:
        hidden |= place < -left
    if right is not None:
        hidden |= place > right
    return hidden


def differentiate(inputs: Inputs) -> Tensor:
    """Return the gradients by Q, K and V of what a launch is given, O and log-sum-exp included, in
    float32 (rounded from float64), joined as ``Inputs.joined`` has them:

        P = exp(S - lse), dP = dO V^T, dS = P (dP - rowsum(dO O)),
        dQ = dS K / sqrt(head_dim), dK = dS^T Q / sqrt(head_dim), dV = P^T dO
    """
    sums = [torch.zeros_like(inputs.tensors[name], dtype=torch.float64) for name in "qkv"]
    for part in _parts(inputs):
        _add_gradients(inputs, part, sums)
    return inputs.joined([each.float() for each in sums])


def _add_gradients(inputs: Inputs, part: _Queries, sums: list[Tensor]) -> None:
    """Add what some queries contribute to the gradients."""
    t, w = inputs.tensors, inputs.workload
    if part.keys is None or part.keys.shape[1] == 0:
        return
    q, grad, o = (t[name][:, :, part.rows].double() for name in ("q", "grad", "o"))
    k, v = (_of_heads(t[name], part, w).double()[:, :, None] for name in ("k", "v"))

    def grouped(of_queries: Tensor) -> Tensor:
        return of_queries.unflatten(1, (w.key_heads, w.heads // w.key_heads))

    lse = t["lse"][:, :, part.rows].double()[..., None]
    scores = grouped(q) @ k.mT / math.sqrt(w.head_dim) - grouped(lse)
    hidden = _hidden(w, part, q.device)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    weights = torch.exp(scores)
    inner = (grad * o).sum(-1, keepdim=True)
    by_scores = weights * (grouped(grad) @ v.mT - grouped(inner)) / math.sqrt(w.head_dim)
    by_q, by_k, by_v = sums
    by_q[:, :, part.rows] = (by_scores @ k).flatten(1, 2)
    keys = part.keys.flatten()
    by_k.index_add_(2, keys, (by_scores.mT @ grouped(q)).sum(2).flatten(2, 3))
    by_v.index_add_(2, keys, (weights.mT @ grouped(grad)).sum(2).flatten(2, 3))
