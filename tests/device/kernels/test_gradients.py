"""Gradients of attention as a workload: its oracle against autograd, and what inputs hold."""

import dataclasses
import math

import pytest
import torch

from assay.device.kernels.drawn_inputs import fill, make_inputs
from assay.device.kernels.oracles import errors_by_gradient, errors_of, oracle
from assay.shared.specs import PatternSpec
from assay.shared.stored_blocks import ragged_blocks
from tests.device.helpers import gradient_workload
from tests.device.kernels.test_attention_oracle import plain, selected

CASES = {
    "random": {},
    "shared heads": {"heads": 4, "kv_heads": 2, "layout": "bshd"},
    "window": {
        "seq_q": 48,
        "pattern": PatternSpec("random", 16, 16, 3),
        "window_left": 20,
        "window_right": 3,
    },
    "no whole blocks, an empty row": {"seq_q": 60, "seq_kv": 56},
}


def made(case, **changes):
    workload = gradient_workload(**{"dtype": "float32", **CASES[case], **changes})
    layout = (ragged_blocks(workload.pattern, 4, 4, 1), None) if "empty" in case else None
    return make_inputs(workload, "cpu", 1, layout)


def seen(inputs):
    w = inputs.workload
    mask = selected(inputs.blocks, w.seq_q, w.seq_kv)
    place = torch.arange(w.seq_kv)[None] - (torch.arange(w.seq_q)[:, None] + w.seq_kv - w.seq_q)
    return mask & (place >= -20) & (place <= 3) if w.windowed else mask


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_autograd_through_pytorch(case):
    inputs = made(case)
    given = dataclasses.replace(inputs, tensors={n: t.double() for n, t in inputs.tensors.items()})
    leaves = [given.tensors[name].requires_grad_() for name in "qkv"]
    output, _ = plain(given, seen(inputs))
    right = torch.autograd.grad((output * given.tensors["grad"]).sum(), leaves)
    found = inputs.gradients(oracle(inputs))
    for mine, theirs in zip(found, right, strict=True):
        assert torch.allclose(mine.double(), theirs.nan_to_num(0.0).reshape(-1, 16), atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_inputs_hold_the_forward_pass_of_their_values(case):
    inputs = made(case, dtype="bfloat16")
    for seed in (1, 2):
        fill(inputs, seed)
        output, sums = plain(inputs, seen(inputs))
        assert torch.equal(inputs.tensors["o"], output.float().bfloat16())
        assert torch.allclose(inputs.tensors["lse"].double(), sums, atol=1e-5)
    assert inputs.tensors["o"].stride() == inputs.tensors["q"].stride()


def test_keys_that_no_block_selects_may_hold_anything():
    inputs = made("random", seq_kv=640, poison_unselected=True)
    assert inputs.tensors["k"].isnan().any()
    _, by_k, by_v = inputs.gradients(oracle(inputs))
    assert bool(by_k.isfinite().all()) and not by_v[by_v.isnan()].numel()
    assert (by_v == 0).all(1).any()


def test_each_gradient_is_measured_by_its_own_size():
    inputs = made("random")
    right = oracle(inputs)
    wrong = [part.clone() for part in inputs.gradients(right)]
    wrong[1] *= 1.01
    output = inputs.joined(wrong)
    found = errors_by_gradient(inputs, output, right)
    assert [round(each.relative, 4) for each in found.values()] == [0, 0.01, 0]
    assert errors_of(inputs, output, right).beyond(inputs.workload).startswith("relative error")
    wrong[2][3, 3] = math.nan
    assert errors_of(inputs, inputs.joined(wrong), right).relative is None


def test_one_wrong_element_of_many_shows():
    inputs = made("random")
    right = oracle(inputs)
    wrong = right.clone()
    wrong[-1, -1] += 0.2 * right.abs().mean()
    assert errors_of(inputs, wrong, right).beyond(inputs.workload).startswith("error of one")
