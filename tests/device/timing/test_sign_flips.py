"""sign_flips: contents change before each launch, and the right answer stays known."""

import pytest
import torch

from assay.device.kernels.drawn_inputs import make_inputs
from assay.device.kernels.oracles import errors_by_gradient, measure_errors, oracle
from assay.device.timing.sign_flips import signs_of
from tests.device.helpers import (
    attention_workload,
    bsr_bsr_workload,
    bsr_workload,
    dense_workload,
    fp8_dense_workload,
    fp8_workload,
    gradient_workload,
    load_workload,
    sparse_attention_workload,
)

WORKLOADS = (
    bsr_workload(),
    bsr_bsr_workload(),
    dense_workload(),
    bsr_workload(operation="grouped_gemm", groups=3, pattern=None),
    attention_workload(),
    sparse_attention_workload(),
    gradient_workload(heads=4, kv_heads=2, layout="bshd"),
    bsr_workload(dtype="bfloat16"),
    fp8_workload(),
    fp8_dense_workload(),
    load_workload(),
)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: f"{w.operation}_{w.dtype}")
def test_an_answer_with_its_signs_turned_back_is_right_and_one_of_before_is_not(workload):
    inputs = make_inputs(workload, "cpu", 1)
    first = oracle(inputs)
    signs = signs_of(inputs, "s")
    signs.step()
    assert measure_errors(signs.turned_back(first, signs.snapshot()), first).relative > 0.1
    for _ in range(20):
        signs.step()
    answer = oracle(inputs)
    assert not torch.equal(answer, first)
    assert torch.equal(signs.turned_back(answer, signs.snapshot()), first)


def test_each_gradient_changes_from_one_launch_to_a_later_one():
    inputs = make_inputs(gradient_workload(), "cpu", 1)
    first, signs = oracle(inputs), signs_of(inputs, "s")
    output, sums = inputs.tensors["o"].clone(), inputs.tensors["lse"].clone()
    stale = [0, 0, 0]
    for _ in range(20):
        signs.step()
        found = errors_by_gradient(inputs, signs.turned_back(first, signs.snapshot()), first)
        stale = [n + (each.relative == 0) for n, each in zip(stale, found.values(), strict=True)]
    assert stale[0] == stale[1] < 5
    assert 5 < stale[2] < 15
    again = make_inputs(gradient_workload(), "cpu", 1).tensors
    assert torch.equal(again["o"], output)
    assert torch.equal(again["lse"], sums)
