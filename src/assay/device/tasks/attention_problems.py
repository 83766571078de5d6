"""Small problems of attention: masks of every kind, values, and the dense answer."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from assay.device.kernels.inputs import DTYPES
from assay.device.tasks.operator_checks import SEED, OperatorCase
from assay.ops import AttentionMask
from assay.ops.checks import Tensor

BATCHES, HEADS, KV_HEADS = 2, 4, 2
ROWS, COLUMNS = 4, 5
"""Blocks of queries and of keys."""
WHOLE = "window of whole blocks"
"""The mask under which some keys are in no block, so that nobody may read them."""


@dataclass(frozen=True)
class AttentionProblem:
    """A mask, and values: q as a view of [batch, length, heads, head_dim], k and v as they come."""

    mask: AttentionMask
    q: Tensor
    k: Tensor
    v: Tensor

    @property
    def values(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return q, k and v."""
        return self.q, self.k, self.v

    def differentiable(self) -> list[Tensor]:
        """Return copies of the values that ask for gradients."""
        return [tensor.detach().clone().requires_grad_() for tensor in self.values]


def masks(case: OperatorCase) -> Iterator[tuple[str, AttentionMask]]:
    """Yield whole blocks, windows and bits; shared, and of each batch and head; ragged lengths and
    empty rows.
    """
    block, device = case.kernel.block[0], case.device
    queries, keys = ROWS * block, COLUMNS * block
    sizes: dict[str, Any] = {"block": block, "device": device}
    yield (
        "random, a pattern a head",
        AttentionMask.pattern("random", queries, keys, 2, seed=SEED, heads=HEADS, **sizes),
    )
    yield WHOLE, AttentionMask.pattern("sliding_window", queries, keys, 2, **sizes)
    yield "causal, ragged", AttentionMask.window(queries - 24, keys - 8, **sizes)
    yield (
        "window with empty rows",
        AttentionMask.window(keys, queries, left=block + 3, right=5, **sizes),
    )
    yield "sinks", AttentionMask.window(queries, keys, left=block // 2, sinks=3, **sizes)
    yield "documents, a mask a batch", documents(case, 1)
    yield "nothing selected", AttentionMask(queries, keys, block, None, None)


def documents(case: OperatorCase, seed: int) -> AttentionMask:
    """Return a mask of packed documents, another for each batch and head, whose lists have places
    for every block: of one shape for every seed.
    """
    block, device = case.kernel.block[0], case.device
    length = ROWS * block - 24
    generator = torch.Generator().manual_seed(seed)
    borders = torch.rand((BATCHES, length), generator=generator) < 2 / block
    ids = borders.cumsum(dim=1).to(device)

    def seen(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        alike = ids[batch, query] == ids[batch, key]
        return (alike & (key <= query)) | (key // block == (head + seed) % ROWS)

    made = AttentionMask.from_mask_mod(
        seen, length, length, batches=BATCHES, heads=HEADS, block=block, device=device
    )
    return made.with_room(ROWS)


def problem(case: OperatorCase, mask: AttentionMask, seed: int = SEED) -> AttentionProblem:
    """Return values for a mask, by a seed."""
    generator = torch.Generator(device=case.device).manual_seed(seed)
    dtype, head_dim = DTYPES[case.kernel.dtype], case.kernel.head_dim

    def normal(*shape: int) -> Tensor:
        return torch.randn((*shape, head_dim), generator=generator, device=case.device).to(dtype)

    q = normal(BATCHES, mask.queries, HEADS).transpose(1, 2)
    return AttentionProblem(
        mask, q, normal(BATCHES, KV_HEADS, mask.keys), normal(BATCHES, KV_HEADS, mask.keys)
    )


def dense_attention(p: AttentionProblem, *values: Tensor) -> tuple[Tensor, Tensor]:
    """Return result and log-sum-exp from the whole mask, for autograd to follow; of a query without
    any key 0 and -infinity. In the type of ``values``, those of the problem in float64 where none
    are given.
    """
    q, k, v = values or [tensor.double() for tensor in p.values]
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = (q @ k.mT / math.sqrt(q.shape[3])).masked_fill(~p.mask.dense().to(q.device), -math.inf)
    empty = (scores == -math.inf).all(dim=3)
    lse = torch.logsumexp(scores.masked_fill(empty[..., None], 0), dim=3)
    lse = lse.masked_fill(empty, -math.inf)
    return torch.exp(scores - finite(lse)[..., None]) @ v, lse


def finite(lse: Tensor) -> Tensor:
    """Return 0 in place of what a query without any key has."""
    return lse.masked_fill(lse == -math.inf, 0)
