"""AttentionMask: patterns, windows, documents and FlexAttention's masks, as lists and bits."""

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, create_mask, flex_attention

from assay.ops import AttentionMask, flex_block_sparse_attention
from assay.shared.sparsity import generate
from tests.ops.attention_helpers import dense, values

BLOCK = 32


def causal(batch, head, query, key):
    return key <= query


def by_head(batch, head, query, key):
    return (key <= query) & (query - key < 20 * (head + 1))


TABLE = torch.tensor([[0] * 50 + [1] * 46 + [2] * 4, [4] * 100])


def by_table(batch, head, query, key):
    return TABLE[batch, query] == TABLE[batch, key]


@pytest.mark.parametrize(
    ("mask_mod", "batches", "heads", "queries", "keys"),
    [
        (causal, 1, 1, 96, 96),
        (causal, 1, 1, 100, 70),
        (by_head, 1, 4, 96, 96),
        (by_table, 2, 1, 100, 100),
        (lambda b, h, q, k: (q >= 0) & (k >= 96), 1, 1, 64, 96),
    ],
)
def test_the_same_scores_count_as_in_a_block_mask(mask_mod, batches, heads, queries, keys):
    shape = batches, heads, queries, keys
    theirs = create_block_mask(mask_mod, *shape, device="cpu", BLOCK_SIZE=BLOCK)
    right = create_mask(mask_mod, *shape, device="cpu")
    converted = AttentionMask.from_block_mask(theirs)
    own = AttentionMask.from_mask_mod(
        mask_mod, queries, keys, batches=batches, heads=heads, block=BLOCK
    )
    assert torch.equal(converted.dense(), right)
    assert torch.equal(own.dense(), right)


@pytest.mark.parametrize("mask_mod", [causal, by_head])
def test_as_flex_attention(mask_mod):
    block_mask = create_block_mask(mask_mod, 1, 4, 96, 96, device="cpu", BLOCK_SIZE=BLOCK)
    mask = AttentionMask.from_block_mask(block_mask)
    q, k, v = (t.detach() for t in values(mask, kv_heads=4, dtype=torch.float32))
    right = flex_attention(q, k, v, block_mask=block_mask, scale=0.5)
    for given in (block_mask, mask):
        o = flex_block_sparse_attention(q, k, v, given, scale=0.5)
        assert torch.allclose(o, right, atol=1e-6)
    o, lse = flex_block_sparse_attention(q, k, v, mask, return_lse=True)
    assert torch.allclose(lse, dense(q, k, v, mask.dense())[1], atol=1e-6)


class TestPatterns:
    """Masks by name, windows and documents."""

    @pytest.mark.parametrize(
        "kind", ["random", "sliding_window", "sliding_window_sinks", "strided"]
    )
    def test_named_ones_are_those_of_the_benchmarks(self, kind):
        mask = AttentionMask.pattern(kind, 160, 190, 3, block=BLOCK, seed=5)
        row_ptr, col_idx = generate(kind, 5, 6, 3, 5)
        for row in range(5):
            count = int(mask.full.counts[0, 0, row])
            columns = mask.full.columns[0, 0, row, :count].tolist()
            assert columns == col_idx[row_ptr[row] : row_ptr[row + 1]].tolist()

    @pytest.mark.parametrize("left", [None, 0, 31, 40])
    @pytest.mark.parametrize("right", [None, 0, 5, 70])
    @pytest.mark.parametrize("sinks", [0, 3, 64])
    @pytest.mark.parametrize(("queries", "keys"), [(160, 160), (70, 150), (150, 70)])
    def test_windows(self, left, right, sinks, queries, keys):
        mask = AttentionMask.window(queries, keys, left=left, right=right, sinks=sinks, block=BLOCK)
        key = torch.arange(keys)
        distance = key - (torch.arange(queries)[:, None] + keys - queries)
        near = torch.ones_like(distance, dtype=torch.bool) if left is None else distance >= -left
        seen = near | (key < sinks)
        if right is not None:
            seen &= distance <= right
        assert torch.equal(mask.dense()[0, 0], seen)
        assert (mask.bits is None) == (sinks == 0 or mask.partial is None)

    def test_documents(self):
        ids = torch.tensor([3] * 40 + [1] * 50 + [3] * 6)
        same = ids[:, None] == ids
        mask = AttentionMask.documents(ids, causal=False, block=BLOCK)
        assert torch.equal(mask.dense()[0, 0], same)
        assert torch.equal(AttentionMask.documents(ids, block=BLOCK).dense()[0, 0], same.tril())
