"""Block-sparse attention in plain PyTorch: the forward pass for a CPU, the gradients for both.

Half-width types are computed in float32 and rounded once at the end; float64 stays what it is.
"""

import math
from typing import Any

import torch

from assay.ops.attention_arguments import AttentionArguments, empty_like, empty_lse, sums_dtype
from assay.ops.attention_scores import (
    BlockPairs,
    ListedBlocks,
    check_block_lists,
    counting_scores,
    listed_blocks,
)
from assay.ops.checks import Tensor

CHUNK_BYTES = 2**26
"""Of one array for the blocks that gradients treat at a time; about twelve such exist at once."""


def attention(call: AttentionArguments) -> tuple[Tensor, Tensor]:
    """Return softmax(scale * Q K^T) V over the selected scores, and the log of the sums.

    Shapes: as ``q``; [batches, heads, queries]. A query without any key has 0 and -infinity.
    Raises ValueError for lists that name no blocks.
    """
    check_block_lists(call)
    o, lse = empty_like(call.q).zero_(), empty_lse(call.q).fill_(-math.inf)
    rows = _blocks_of_rows(call)
    for (batch, head, row), found in rows.items():
        top = slice(row * call.block, (row + 1) * call.block)
        q = call.q[batch, head, top].to(lse.dtype)
        keys, counts = zip(*found, strict=True)
        places = torch.cat(keys)
        seen = torch.cat(counts, dim=1)[: q.shape[0]]
        k = call.k[batch, head // call.group][places].to(lse.dtype)
        v = call.v[batch, head // call.group][places].to(lse.dtype)
        scores = (call.scale * (q @ k.T)).masked_fill(~seen, -math.inf)
        sums = torch.logsumexp(scores, dim=1)
        lse[batch, head, top] = sums
        o[batch, head, top] = (_weights(scores, sums) @ v).to(o.dtype)
    return o, lse


def _blocks_of_rows(
    call: AttentionArguments,
) -> dict[tuple[int, int, int], list[tuple[Tensor, Tensor]]]:
    """Keys of each selected block [keys] and the scores that count [block, keys], by block row."""
    rows: dict[tuple[int, int, int], list[tuple[Tensor, Tensor]]] = {}
    for listed in call.lists:
        blocks = listed_blocks(call, listed, wait=True)
        for number in range(len(blocks)):
            pair = blocks.pairs(number, number + 1)
            begin = int(pair.column) * call.block
            keys = torch.arange(begin, min(begin + call.block, call.k.shape[2]))
            counts = counting_scores(call, listed, pair)[0, :, : len(keys)]
            place = int(pair.batch), int(pair.head), int(pair.row)
            rows.setdefault(place, []).append((keys, counts))
    return rows


def _weights(scores: Tensor, lse: Tensor) -> Tensor:
    """exp(scores - lse), and 0 in rows without a score."""
    return torch.exp(scores - lse.masked_fill(lse == -math.inf, 0)[..., None])


class _Gradients:
    """Sums of the gradients by q, k and v, to which blocks are added some at a time."""

    def __init__(
        self, call: AttentionArguments, grad: Tensor, grad_lse: Tensor, o: Tensor, lse: Tensor
    ) -> None:
        """``o`` and ``lse`` are what the forward pass gave, the others what comes back for them."""
        self.call = call
        self.sums = sums_dtype(call.q)
        self.q, self.grad = _as_blocks(call.q, call.block), _as_blocks(grad, call.block)
        self.k, self.v = _as_blocks(call.k, call.block), _as_blocks(call.v, call.block)
        self.lse = _as_blocks(lse.masked_fill(lse == -math.inf, 0), call.block)
        delta = _row_products(grad, o, self.sums) - grad_lse
        self.delta = _as_blocks(delta, call.block)
        self.by_q = call.q.new_zeros(self.q.shape, dtype=self.sums)
        self.by_k = call.k.new_zeros(self.k.shape, dtype=self.sums)
        self.by_v = call.v.new_zeros(self.v.shape, dtype=self.sums)

    def add(self, blocks: ListedBlocks) -> None:
        """Add what all blocks of a list contribute."""
        each = self.call.block * max(self.call.block, self.call.q.shape[3]) * 4
        step = max(1, CHUNK_BYTES // each)
        for begin in range(0, len(blocks), step):
            pairs = blocks.pairs(begin, begin + step)
            self._add(pairs, counting_scores(self.call, blocks.listed, pairs))

    def _add(self, at: BlockPairs, seen: Tensor) -> None:
        """dV = P^T dO, dS = P * (dP - delta), dQ = dS K, dK = dS^T Q, the last two times scale."""
        rows = at.batch, at.head, at.row
        columns = at.batch, at.head // self.call.group, at.column
        q, k = self.q[rows].to(self.sums), self.k[columns].to(self.sums)
        v, grad = self.v[columns].to(self.sums), self.grad[rows].to(self.sums)
        scores = (torch.bmm(q, k.mT) * self.call.scale).masked_fill_(~seen, -math.inf)
        p = torch.exp(scores - self.lse[rows][..., None])
        slope = p * (torch.bmm(grad, v.mT) - self.delta[rows][..., None]) * self.call.scale
        self._sum(self.by_v, columns, torch.bmm(p.mT, grad), at)
        self._sum(self.by_q, rows, torch.bmm(slope, k), at)
        self._sum(self.by_k, columns, torch.bmm(slope.mT, q), at)

    def _sum(self, total: Tensor, where: tuple[Tensor, ...], part: Tensor, at: BlockPairs) -> None:
        if at.there is not None:  # what lies in memory that no list names may be NaN
            part = torch.where(at.there[:, None, None], part, 0)
        batch, head, block = where
        number = (batch * total.shape[1] + head) * total.shape[2] + block
        total.view(-1, *total.shape[3:]).index_add_(0, number, part)

    def rounded(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the gradients by q, k and v, in their types and layouts."""
        given = (self.call.q, self.by_q), (self.call.k, self.by_k), (self.call.v, self.by_v)
        first, second, third = (
            empty_like(tensor).copy_(total.flatten(2, 3)[:, :, : tensor.shape[2]])
            for tensor, total in given
        )
        return first, second, third


def _as_blocks(tensor: Tensor, block: int) -> Tensor:
    """Return [batches, heads, length, ...] as [batches, heads, blocks, block, ...], zeros where the
    last block is cut; a view where it is not.
    """
    missing = -tensor.shape[2] % block
    if missing:
        filler = tensor.new_zeros((*tensor.shape[:2], missing, *tensor.shape[3:]))
        tensor = torch.cat((tensor, filler), dim=2)
    return tensor.unflatten(2, (-1, block))


def _row_products(left: Tensor, right: Tensor, dtype: Any) -> Tensor:
    """Sums over head_dim of products: [batches, heads, length], some rows at a time."""
    result = left.new_empty(left.shape[:3], dtype=dtype)
    step = max(1, CHUNK_BYTES // (4 * left.shape[0] * left.shape[1] * left.shape[3]))
    for begin in range(0, left.shape[2], step):
        part = slice(begin, begin + step)
        result[:, :, part] = (left[:, :, part].to(dtype) * right[:, :, part].to(dtype)).sum(-1)
    return result


def gradients(
    call: AttentionArguments, grad: Tensor, grad_lse: Tensor, o: Tensor, lse: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by q, k and v, recomputed block by block from the log-sum-exp.

    ``grad`` and ``grad_lse`` are those of the two results. The number of stored blocks is read
    once for each list, but while a CUDA graph is captured: then every place of the lists is
    computed, also those that hold no block.
    """
    sums = _Gradients(call, grad, grad_lse, o, lse)
    wait = not (call.q.is_cuda and torch.cuda.is_current_stream_capturing())
    for listed in call.lists:
        if listed.columns.numel():
            sums.add(listed_blocks(call, listed, wait=wait))
    return sums.rounded()
