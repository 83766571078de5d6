"""attention_lists: a block is full where no score is hidden, and counted scores are those left."""

import numpy as np
import pytest

from assay.shared.attention_lists import block_lists, seen_scores
from assay.shared.specs import PatternSpec, WorkloadSpec
from assay.shared.stored_blocks import workload_blocks


def workload(kind="random", **changes):
    values = {"seq_q": 60, "seq_kv": 90, "pattern": PatternSpec(kind, 8, 16, 3)}
    return WorkloadSpec(
        "w", "block_sparse_attention", "float16", "normal", 1, 1e-3, batch=1, heads=1, head_dim=16,
        **{**values, **changes},
    )  # fmt: skip


def allowed(w, blocks):
    """Bool arrays [seq_q, seq_kv]: in a selected block, and in the window."""
    inside = np.zeros((blocks.grid_rows * 8, blocks.grid_cols * 16), dtype=bool)
    for row, begin, end in blocks.rows():
        for column in blocks.col_idx[begin:end]:
            inside[row * 8 : row * 8 + 8, column * 16 : column * 16 + 16] = True
    place = np.arange(w.seq_kv)[None] - (np.arange(w.seq_q)[:, None] + w.seq_kv - w.seq_q)
    window = np.ones(place.shape, dtype=bool)
    if w.window_left is not None:
        window &= place >= -w.window_left
    if w.window_right is not None:
        window &= place <= w.window_right
    return inside[: w.seq_q, : w.seq_kv], window


@pytest.mark.parametrize("kind", ["random", "sliding_window", "ragged"])
@pytest.mark.parametrize(
    "window", [{}, {"window_right": 0}, {"window_left": 25}, {"window_left": 30, "window_right": 9}]
)
def test_lists_and_counts_are_those_of_the_elements(kind, window):
    w = workload(kind, **window)
    blocks, _ = workload_blocks(w, 3)
    inside, open_ = allowed(w, blocks)
    assert seen_scores(blocks, w) == (inside & open_).sum()
    listed = {}
    for name, one in zip(("full", "partial"), block_lists(blocks, w), strict=True):
        for row, count in enumerate(one.counts):
            for column in one.columns[row, :count]:
                listed[row, int(column)] = name
    wanted = {}
    for row, begin, end in blocks.rows():
        for column in blocks.col_idx[begin:end]:
            part = open_[row * 8 : row * 8 + 8, column * 16 : column * 16 + 16]
            wanted[row, int(column)] = "full" if part.all() else "partial"
    assert listed == wanted
