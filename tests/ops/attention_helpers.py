"""Attention written down densely, to hold the operator against."""

import math

import torch


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
