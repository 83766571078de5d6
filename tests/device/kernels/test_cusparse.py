"""cusparse: Blocked-ELL holds the matrix it was made from, in every known order."""

import pytest
import torch

from assay.device.kernels import cusparse
from assay.device.kernels.baselines import prepare_library
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


class TestBsr:
    """SpMM on BSR is handed the inputs as they lie."""

    class Library:
        """cuSPARSE as far as arguments go."""

        def __init__(self):
            self.calls = {}

        def call(self, name, *arguments):
            self.calls[name] = arguments

        def new(self, name, *arguments):
            self.calls[name] = arguments
            return name

    @pytest.fixture
    def library(self, monkeypatch):
        made = self.Library()
        monkeypatch.setattr(cusparse, "_Library", lambda: made)
        return made

    def test_names_the_matrix_by_its_own_memory(self, library):
        inputs = make_inputs(bsr_workload(), "cpu", 1)
        prepared = prepare_library("cusparse_spmm_bsr", inputs)
        t, blocks = inputs.tensors, inputs.blocks
        memory = [t[name].data_ptr() for name in ("a_row_ptr", "a_col_idx", "a_values")]
        grid = (blocks.grid_rows, blocks.grid_cols, blocks.stored, 16, 32)
        # 32-bit indices from 0, CUDA_R_16F, rows of a block one after the other.
        assert library.calls["cusparseCreateBsr"] == (*grid, *memory, 2, 2, 0, 2, 2)
        product = library.calls["cusparseSpMM_bufferSize"]
        assert product[4] == "cusparseCreateBsr"
        assert product[8:10] == (0, 14)  # CUDA_R_32F, CUSPARSE_SPMM_BSR_ALG1
        assert prepared.buffer.shape == (64, 32)
