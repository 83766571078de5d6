"""attention_oracle: right against PyTorch's own attention, masks and shared heads included."""

import dataclasses
import math

import pytest
import torch

from assay.device.kernels.attention_oracle import attend, low_precision_limits
from assay.device.kernels.drawn_inputs import make_inputs
from assay.shared.specs import PatternSpec
from assay.shared.stored_blocks import ragged_blocks
from tests.device.helpers import attention_workload, sparse_attention_workload


def plain(inputs, mask=None):
    """PyTorch's attention, and its log-sum-exps, in float64 on every score."""
    q, k, v = (inputs.tensors[name].double() for name in "qkv")
    group = q.shape[1] // k.shape[1]
    k, v = (tensor.repeat_interleave(group, 1) for tensor in (k, v))
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool) if mask is None else mask
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    output = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return output.nan_to_num(0.0), scores.logsumexp(-1)


def selected(blocks, rows, cols):
    """Bool [rows, cols]: whether a score lies in a selected block."""
    grid = torch.zeros(blocks.grid_rows, blocks.grid_cols, dtype=torch.bool)
    for row, begin, end in blocks.rows():
        grid[row, torch.from_numpy(blocks.col_idx[begin:end]).long()] = True
    tall = grid.repeat_interleave(blocks.block_rows, 0).repeat_interleave(blocks.block_cols, 1)
    return tall[:rows, :cols]


def agrees(inputs, mask=None):
    found, (output, sums) = attend(inputs), plain(inputs, mask)
    return torch.allclose(found.output.double(), output, atol=1e-6) and torch.allclose(
        found.log_sum_exp.double(), sums, atol=1e-5
    )


@pytest.mark.parametrize("kind", ["random", "sliding_window"])
def test_only_selected_blocks_count(kind):
    inputs = make_inputs(sparse_attention_workload(pattern=PatternSpec(kind, 16, 16, 2)), "cpu", 1)
    assert agrees(inputs, selected(inputs.blocks, 64, 64))


def test_rows_without_blocks_give_zero_and_no_weight():
    workload = sparse_attention_workload(seq_q=60, seq_kv=56)
    blocks = ragged_blocks(workload.pattern, 4, 4, 1)
    inputs = make_inputs(workload, "cpu", 1, (blocks, None))
    found = attend(inputs)
    empty = int((blocks.row_ptr[1:] == blocks.row_ptr[:-1]).argmax())
    rows = slice(empty * 16, min(empty * 16 + 16, 60))
    assert not found.output[:, :, rows].any()
    assert (found.log_sum_exp[:, :, rows] == -math.inf).all()
    assert agrees(inputs, selected(blocks, 60, 56))


def test_a_window_cuts_selected_blocks_and_its_end_is_where_keys_end():
    workload = sparse_attention_workload(
        seq_q=48, pattern=PatternSpec("random", 16, 16, 3), window_left=20, window_right=3
    )
    inputs = make_inputs(workload, "cpu", 1)
    place = torch.arange(64)[None] - (torch.arange(48)[:, None] + 64 - 48)
    window = (place >= -20) & (place <= 3)
    assert agrees(inputs, selected(inputs.blocks, 48, 64) & window)


def test_the_limit_is_above_what_rounding_costs_and_below_a_lost_key():
    inputs = make_inputs(sparse_attention_workload(), "cpu", 1)
    solved = attend(inputs)
    right, limits = solved.output, low_precision_limits(inputs, solved)
    limit = limits.output
    assert 1e-5 < limits.log_sum_exp < 1e-2
    assert float((right.half().float() - right).abs().max()) < limit
    fewer = dataclasses.replace(inputs.workload, window_left=10**6, window_right=40)
    lost = attend(dataclasses.replace(inputs, workload=fewer)).output
    assert float((lost - right).abs().max()) > limit


def test_of_more_scores_than_the_limit_rows_at_random_are_checked(monkeypatch):
    monkeypatch.setattr("assay.device.kernels.inputs.MOST_SCORES", 2 * 64 * 10)
    inputs = make_inputs(attention_workload(), "cpu", 1)
    rows, (output, sums) = inputs.checked_rows, plain(inputs)
    assert 0 < len(rows) <= 10
    found = attend(inputs)
    assert torch.allclose(found.output.double(), output[:, :, rows], atol=1e-6)
    assert torch.allclose(found.log_sum_exp.double(), sums[:, :, rows], atol=1e-5)
    assert inputs.checked(output).shape == found.output.shape
