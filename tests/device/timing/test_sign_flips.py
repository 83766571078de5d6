"""sign_flips: contents change before each launch, and the right answer stays known."""

import pytest
import torch

from assay.device.kernels.drawn_inputs import make_inputs
from assay.device.kernels.oracles import measure_errors, oracle
from assay.device.timing.sign_flips import Signs
from tests.device.helpers import (
    attention_workload,
    bsr_bsr_workload,
    bsr_workload,
    dense_workload,
    fp8_dense_workload,
    fp8_workload,
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
    bsr_workload(dtype="bfloat16"),
    fp8_workload(),
    fp8_dense_workload(),
    load_workload(),
)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: f"{w.operation}_{w.dtype}")
def test_an_answer_with_its_signs_turned_back_is_right_and_one_of_before_is_not(workload):
    inputs = make_inputs(workload, "cpu", 1)
    first = oracle(inputs)
    signs = Signs(inputs, "s")
    signs.step()
    assert measure_errors(signs.turned_back(first, signs.snapshot()), first).relative > 0.1
    for _ in range(20):
        signs.step()
    answer = oracle(inputs)
    assert not torch.equal(answer, first)
    assert torch.equal(signs.turned_back(answer, signs.snapshot()), first)
