"""oracles: right against plain PyTorch; NaN never passes."""

import dataclasses

import pytest
import torch

from assay.device.kernels.inputs import make_inputs
from assay.device.kernels.oracles import (
    Errors,
    densify,
    measure_errors,
    oracle,
    true_product,
)
from assay.shared.stored_blocks import ragged_blocks
from tests.device.helpers import (
    bsr_bsr_workload,
    bsr_workload,
    dense_workload,
    drawn_workload,
    fp8_workload,
)


def dense_a(inputs):
    w = inputs.workload
    return densify(inputs.blocks, inputs.tensors["a_values"].double(), (w.m, w.k))


class TestSearches:
    """Unsorted columns with repeats: what a program computes that looks for blocks in halves."""

    def test_the_true_product_adds_up_what_is_stored_twice(self):
        inputs = make_inputs(drawn_workload(), "cpu", 1)
        expected = torch.zeros(64, 128, dtype=torch.float64)
        for row, begin, end in inputs.blocks.rows():
            for stored in range(begin, end):
                inner = int(inputs.blocks.col_idx[stored])
                b = inputs.blocks_b
                for other in range(b.row_ptr[inner], b.row_ptr[inner + 1]):
                    col = int(b.col_idx[other])
                    expected[row * 16 : row * 16 + 16, col * 16 : col * 16 + 16] += (
                        inputs.tensors["a_values"][stored].double()
                        @ inputs.tensors["b_values"][other].double()
                    )
        assert torch.allclose(true_product(inputs).double(), expected, atol=1e-6)


class TestProducts:
    def test_bsr(self):
        inputs = make_inputs(bsr_workload(), "cpu", 1)
        expected = dense_a(inputs) @ inputs.tensors["b"].double()
        assert torch.allclose(oracle(inputs).double(), expected, atol=1e-6)

    def test_fp8_and_bfloat16_by_the_rounded_values(self):
        for workload in (bsr_workload(dtype="bfloat16"), fp8_workload()):
            inputs = make_inputs(workload, "cpu", 1)
            expected = dense_a(inputs) @ inputs.tensors["b"].double()
            assert torch.allclose(oracle(inputs).double(), expected, rtol=1e-6)

    def test_bsr_with_ragged_and_empty_rows(self):
        workload = bsr_workload(m=96, k=160)
        blocks = ragged_blocks(workload.pattern, 6, 5, 1)
        inputs = make_inputs(workload, "cpu", 1, (blocks, None))
        expected = dense_a(inputs) @ inputs.tensors["b"].double()
        assert torch.allclose(oracle(inputs).double(), expected, atol=1e-6)

    def test_bsr_bsr(self):
        inputs = make_inputs(bsr_bsr_workload(), "cpu", 1)
        b = densify(inputs.blocks_b, inputs.tensors["b_values"].double(), (96, 32))
        assert torch.allclose(oracle(inputs).double(), dense_a(inputs) @ b, atol=1e-6)

    def test_grouped(self):
        workload = dataclasses.replace(dense_workload(), operation="grouped_gemm", groups=3)
        inputs = make_inputs(workload, "cpu", 1)
        expected = torch.bmm(inputs.tensors["a"].double(), inputs.tensors["b"].double())
        assert torch.allclose(oracle(inputs).double(), expected, atol=1e-6)


class TestMeasureErrors:
    def test_values(self):
        errors = measure_errors(torch.tensor([3.0, 4.5]), torch.tensor([3.0, 4.0]))
        assert errors.relative == pytest.approx(0.1)
        assert errors.max_abs == pytest.approx(0.5)

    @pytest.mark.parametrize("bad", [float("nan"), float("inf")])
    def test_not_finite_never_passes(self, bad):
        errors = measure_errors(torch.tensor([bad, 4.0]), torch.tensor([3.0, 4.0]))
        assert errors == Errors(None, None)
        assert not errors.within(bsr_workload(relative_tolerance=1e9))

    def test_zeros_against_zeros_pass_and_anything_else_does_not(self):
        zeros = torch.zeros(4)
        assert measure_errors(zeros, zeros).within(bsr_workload())
        assert not measure_errors(zeros + 1e-6, zeros).within(bsr_workload())

    def test_absolute_criterion_holds_where_the_source_states_one(self):
        errors = Errors(relative=1e-4, max_abs=3e-3)
        assert errors.within(bsr_workload())
        assert not errors.within(bsr_workload(max_abs_tolerance=2e-3))
