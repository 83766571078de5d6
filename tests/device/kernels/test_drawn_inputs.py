"""drawn_inputs: the same seed gives the same problem; edges, scales, ragged rows."""

import pytest
import torch

from assay.device.kernels.drawn_inputs import FP8_SCALE, make_inputs
from tests.device.helpers import bsr_workload, dense_workload, fp8_dense_workload


class TestMakeInputs:
    def test_b_is_scaled_so_that_results_stay_near_one(self):
        inputs = make_inputs(dense_workload(m=256, n=256, k=1024), "cpu", 1)
        assert inputs.tensors["a"].float().std() == pytest.approx(1.0, rel=0.02)
        assert inputs.tensors["b"].float().std() == pytest.approx(1024**-0.5, rel=0.02)

    def test_same_seed_same_bits_other_seed_other_values(self):
        first, same, other = (make_inputs(bsr_workload(), "cpu", seed) for seed in (1, 1, 2))
        assert torch.equal(first.tensors["a_values"], same.tensors["a_values"])
        assert not torch.equal(first.tensors["a_values"], other.tensors["a_values"])


def test_values_of_fp8_use_the_range_and_do_not_leave_it():
    inputs = make_inputs(fp8_dense_workload(m=512, n=512, k=512), "cpu", 1)
    for name in "ab":
        values = inputs.tensors[name].float()
        assert torch.isfinite(values).all()
        assert values.std() == pytest.approx(FP8_SCALE, rel=0.02)
        # Below 2^-6 E4M3 loses bits; the generator's farthest value is no 7 deviations out.
        assert (values.abs() < 2**-6).float().mean() < 1e-3
    assert torch.finfo(torch.float8_e4m3fn).max > 7 * FP8_SCALE


def test_changed_since_sees_one_bit_and_no_difference_in_equal_nans():
    inputs = make_inputs(dense_workload(), "cpu", 1)
    inputs.tensors["a"][0, 0] = float("nan")
    before = inputs.snapshot()
    assert inputs.changed_since(before) == []
    inputs.tensors["b"][3, 3] = -0.0
    before["b"][3, 3] = 0.0
    assert inputs.changed_since(before) == ["b"]
