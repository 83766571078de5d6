"""cusparse: Blocked-ELL holds the matrix it was made from, in every known order."""

import pytest
import torch

from assay.device.kernels.cusparse import ORDERS, ell_columns, ell_values
from assay.device.kernels.inputs import make_inputs
from assay.device.kernels.oracles import densify
from assay.shared.specs import PatternSpec
from assay.shared.stored_blocks import ragged_blocks
from tests.device.helpers import bsr_workload


def from_ell(columns, rows, square, shape):
    """The dense matrix that (columns, row-ordered values) describe."""
    matrix = torch.zeros(shape, dtype=rows.dtype)
    for i in range(columns.shape[0]):
        for j in range(columns.shape[1]):
            if (col := int(columns[i, j])) >= 0:
                tile = rows[i * square : (i + 1) * square, j * square : (j + 1) * square]
                matrix[i * square : (i + 1) * square, col * square : (col + 1) * square] = tile
    return matrix


@pytest.mark.parametrize(("bm", "bk", "square"), [(16, 16, 16), (32, 16, 16), (16, 48, 16)])
def test_describes_the_same_matrix(bm, bk, square):
    workload = bsr_workload(m=4 * bm, k=4 * bk, pattern=PatternSpec("random", bm, bk, 2))
    inputs = make_inputs(workload, "cpu", 1)
    values = inputs.tensors["a_values"]
    columns = ell_columns(inputs.blocks, square)
    rows = ell_values(inputs.blocks, values)
    assert rows.shape == (workload.m, columns.shape[1] * square)
    expected = densify(inputs.blocks, values, (workload.m, workload.k))
    assert torch.equal(from_ell(columns, rows, square, (workload.m, workload.k)), expected)


def test_short_rows_are_padded():
    workload = bsr_workload(m=96, k=160)
    blocks = ragged_blocks(workload.pattern, 6, 5, 1)
    inputs = make_inputs(workload, "cpu", 1, (blocks, None))
    columns = ell_columns(blocks, 16)
    rows = ell_values(blocks, inputs.tensors["a_values"])
    expected = densify(blocks, inputs.tensors["a_values"], (96, 160))
    assert (columns == -1).any()
    assert torch.equal(from_ell(columns, rows, 16, (96, 160)), expected)


class TestOrders:
    def test_keep_the_elements_where_they_say(self):
        rows = torch.arange(4 * 8).reshape(4, 8)
        assert ORDERS["rows"](rows, 2) is rows
        assert ORDERS["blocks"](rows, 2).flatten()[:8].tolist() == [0, 1, 8, 9, 2, 3, 10, 11]
        flipped = ORDERS["transposed_blocks"](rows, 2).flatten()[:8].tolist()
        assert flipped == [0, 8, 1, 9, 2, 10, 3, 11]

    def test_the_probe_tells_them_apart(self):
        rows = torch.zeros(32, 64)
        rows[1, :32] = 1.0
        images = [ORDERS[name](rows, 32).contiguous().flatten().tolist() for name in ORDERS]
        assert len({tuple(image) for image in images}) == len(images)
