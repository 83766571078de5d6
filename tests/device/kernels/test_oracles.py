"""oracles: right against plain PyTorch; NaN never passes."""

import pytest
import torch

from assay.device.kernels.drawn_inputs import make_inputs
from assay.device.kernels.oracles import Errors, densify, measure_errors, oracle, true_product
from assay.shared.stored_blocks import ragged_blocks
from tests.device.helpers import bsr_bsr_workload, bsr_workload, drawn_workload, fp8_workload


def test_the_true_product_adds_up_what_is_stored_twice():
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


@pytest.mark.parametrize(
    "workload",
    [bsr_workload(m=96, k=160), bsr_workload(dtype="bfloat16"), fp8_workload(), bsr_bsr_workload()],
    ids=lambda workload: f"{workload.id}_{workload.dtype}",
)
def test_products_of_blocks_are_those_of_the_dense_matrices(workload):
    grid = workload.m // 16, workload.k // 32
    ragged = (ragged_blocks(workload.pattern, *grid, 1), None) if workload.m == 96 else None
    inputs = make_inputs(workload, "cpu", 1, ragged)
    a = densify(inputs.blocks, inputs.tensors["a_values"].double(), (workload.m, workload.k))
    if inputs.blocks_b is None:
        b = inputs.tensors["b"].double()
    else:
        b = densify(inputs.blocks_b, inputs.tensors["b_values"].double(), (96, 32))
    assert torch.allclose(oracle(inputs).double(), a @ b, rtol=1e-6, atol=1e-6)


NAN, INF = float("nan"), float("inf")


class TestMeasureErrors:
    @pytest.mark.parametrize("bad", [float("nan"), float("inf")])
    def test_not_finite_never_passes(self, bad):
        errors = measure_errors(torch.tensor([bad, 4.0]), torch.tensor([3.0, 4.0]))
        assert errors == Errors(None, None)
        assert errors.beyond(bsr_workload(relative_tolerance=1e9))

    @pytest.mark.parametrize(
        ("output", "relative"),
        [
            ([NAN, INF, -INF, 3.0, 4.5], 0.1),
            ([NAN, INF, -INF, NAN, 4.0], None),
            ([NAN, INF, -INF, INF, 4.0], None),
            ([0.0, INF, -INF, 3.0, 4.0], None),
            ([NAN, INF, INF, 3.0, 4.0], None),
            ([NAN, NAN, -INF, 3.0, 4.0], None),
            ([NAN, 1e38, -INF, 3.0, 4.0], None),
        ],
    )
    def test_where_the_right_answer_is_not_finite_the_output_is_the_same(self, output, relative):
        right = torch.tensor([NAN, INF, -INF, 3.0, 4.0])
        assert measure_errors(torch.tensor(output), right).relative == pytest.approx(relative)

    def test_a_right_answer_that_is_nowhere_finite_is_no_answer(self):
        nowhere = torch.full((4,), NAN)
        assert measure_errors(nowhere, nowhere) == Errors(None, None)

    def test_a_limit_of_either_kind_holds(self):
        zeros = torch.zeros(4)
        assert not measure_errors(zeros, zeros).beyond(bsr_workload())
        assert measure_errors(zeros + 1e-6, zeros).beyond(bsr_workload())
        errors = Errors(relative=1e-4, max_abs=3e-3)
        assert not errors.beyond(bsr_workload())
        assert errors.beyond(bsr_workload(max_abs_tolerance=2e-3))

    def test_one_wrong_element_among_many_is_seen(self):
        right = torch.randn(512, 512, generator=torch.Generator().manual_seed(1))
        output = right.clone()
        output[-1, -1] += 0.5
        workload = bsr_workload()
        assert not measure_errors(output, right).beyond(workload)
        assert "one element" in measure_errors(output, right, each=True).beyond(workload)
        rounded = (right * (1 + 4e-3 * torch.randn(right.shape))).double().float()
        near = bsr_workload(relative_tolerance=5e-3)
        assert not measure_errors(rounded, right, each=True).beyond(near)
