"""Ragged patterns: what a kernel that balances its work must cope with."""

from itertools import pairwise

import numpy as np
import pytest

from assay.shared.sparsity import digest, generate, ragged_rows


@pytest.mark.parametrize(("rows", "blocks"), [(64, 16), (16, 4), (7, 3), (128, 8)])
def test_lengths_run_from_nothing_to_twice_the_mean(rows: int, blocks: int):
    row_ptr, col_idx = ragged_rows(rows, 64, blocks, seed=1)
    lengths = np.diff(row_ptr)
    assert lengths.min() == 0
    assert lengths.max() == 2 * blocks
    assert lengths.sum() == rows * blocks == len(col_idx)


def test_columns_rise_within_a_row_and_fit():
    row_ptr, col_idx = ragged_rows(64, 64, 16, seed=1)
    for start, end in pairwise(row_ptr):
        assert (np.diff(col_idx[start:end]) > 0).all()
    assert col_idx.min() >= 0
    assert col_idx.max() < 64


def test_the_seed_decides_all():
    first, again = (generate("ragged", 64, 64, 16, 5) for _ in range(2))
    other = generate("ragged", 64, 64, 16, 6)
    assert digest(*first) == digest(*again) != digest(*other)


def test_rows_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        ragged_rows(8, 16, 9, seed=1)
