"""Attention written down densely, to hold the operator against."""

import math

import torch

from assay.ops import AttentionMask


def dense(q, k, v, seen, scale=None):
    """(O, log-sum-exp) over bool ``seen`` [batches or 1, heads or 1, queries, keys]."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.mT * (1 / math.sqrt(q.shape[3]) if scale is None else scale)
    scores = scores.masked_fill(~seen, -math.inf)
    lse = torch.logsumexp(scores, -1)
    return torch.exp(scores - lse.masked_fill(lse == -math.inf, 0)[..., None]) @ v, lse


def values(mask, *, batches=2, heads=4, kv_heads=2, head_dim=16, dtype=torch.float64, seed=1):
    """q as a view of [batches, queries, heads, head_dim], k and v as they come."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    q = normal(batches, mask.queries, heads, head_dim).transpose(1, 2)
    k, v = (normal(batches, kv_heads, mask.keys, head_dim) for _ in range(2))
    return [tensor.requires_grad_() for tensor in (q.detach(), k, v)]


def finite(lse):
    """0 in place of an empty row's -infinity, whose gradient nobody has."""
    return lse.masked_fill(lse == -math.inf, 0)


def masks(block, queries, keys, heads=4):
    """By name, masks of every kind: neither length is a whole number of blocks."""
    whole = AttentionMask.pattern("strided", queries, keys, 2, block=block)
    counts = whole.full.counts.clone()
    counts[:, :, 1] = 0
    position = torch.arange(queries)
    return {
        "random, a pattern a head": AttentionMask.pattern(
            "random", queries, keys, 2, block=block, heads=heads
        ),
        "an empty row": AttentionMask(
            queries, keys, block, type(whole.full)(counts, whole.full.columns), None
        ),
        "causal, more keys": AttentionMask.window(queries, keys, block=block),
        "causal, more queries, empty rows in a block": AttentionMask.window(
            keys, queries, block=block
        ),
        "window": AttentionMask.window(queries, keys, left=20, right=7, block=block),
        "sinks": AttentionMask.window(queries, keys, left=10, sinks=5, block=block),
        "documents, a mask a batch": AttentionMask.documents(
            torch.stack([(position >= 40).int() + (position >= 70).int(), (position < 70).int()]),
            block=block,
        ),
        "full and partial": AttentionMask.from_mask_mod(
            lambda batch, head, query, key: key <= query + 30 - head, queries, keys, heads=heads,
            block=block,
        ),
        "nothing": AttentionMask(queries, keys, block, None, None),
    }  # fmt: skip


def assert_near(found, right, dtype, limit=None):
    """Whether (O, log-sum-exp) are right within ``limit``, or what ``dtype`` rounds; empty rows are
    exact.
    """
    (o, lse), (o_right, lse_right) = found, (each.to(found[0].device) for each in right)
    empty = lse_right == -math.inf
    assert torch.equal(lse == -math.inf, empty)
    assert not o[empty].any()
    limit = limit or {torch.float16: 1e-3, torch.bfloat16: 5e-3}[dtype]
    assert (o.double() - o_right).norm() <= limit * o_right.norm()
    assert torch.allclose(finite(lse).double(), finite(lse_right).double(), rtol=0, atol=1e-3)
