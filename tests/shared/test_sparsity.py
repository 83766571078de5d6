"""Patterns: ragged rows, and columns as a generator throws them, with what a search finds there."""

from itertools import pairwise

import numpy as np
import pytest

from assay.shared.sparsity import (
    count_found,
    drawn_rows,
    generate,
    ragged_rows,
    searched_blocks,
    sliding_window_sinks,
)
from assay.shared.specs import PatternSpec
from assay.shared.stored_blocks import workload_blocks
from tests.device.helpers import drawn_workload


@pytest.mark.parametrize(("rows", "blocks"), [(64, 16), (16, 4), (7, 3), (128, 8)])
def test_lengths_run_from_nothing_to_twice_the_mean(rows: int, blocks: int):
    row_ptr, col_idx = ragged_rows(rows, 64, blocks, seed=1)
    lengths = np.diff(row_ptr)
    assert lengths.min() == 0
    assert lengths.max() == 2 * blocks
    assert lengths.sum() == rows * blocks == len(col_idx)
    with pytest.raises(ValueError):
        ragged_rows(8, 16, 9, seed=1)


def rows_of(pattern: tuple[np.ndarray, np.ndarray]) -> list[list[int]]:
    return [pattern[1][begin:end].tolist() for begin, end in pairwise(pattern[0])]


def test_a_window_with_sinks_keeps_the_first_blocks_and_ends_at_the_diagonal():
    rows = rows_of(sliding_window_sinks(6, 6, 3))
    assert rows == [[0], [0, 1], [0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]]
    assert rows_of(sliding_window_sinks(4, 4, 3, sinks=2)) == [[0], [0, 1], [0, 1, 2], [0, 1, 3]]
    assert rows_of(generate("sliding_window_sinks", 6, 6, 3, 9)) == rows
    with pytest.raises(ValueError, match="leave a window of 2 blocks a row nothing"):
        sliding_window_sinks(4, 4, 2, sinks=2)


def lower_bound(row: list[int], wanted: int) -> int:
    """``find_block`` of bsr_wmma.cu, line by line."""
    low, high = 0, len(row)
    while low < high:
        middle = low + (high - low) // 2
        if row[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < len(row) and row[low] == wanted else -1


def first_hit(row: list[int], wanted: int) -> int:
    """The same with FIRST_HIT."""
    low, last = 0, len(row) - 1
    while low <= last:
        middle = (low + last) // 2
        if row[middle] == wanted:
            return middle
        if row[middle] < wanted:
            low = middle + 1
        else:
            last = middle - 1
    return -1


SEARCHES = {"lower_bound": lower_bound, "first_hit": first_hit}


def test_of_drawn_columns_some_come_twice_and_some_fall():
    row_ptr, col_idx = drawn_rows(64, 64, 16, seed=1)
    rows = col_idx.reshape(64, 16)
    assert (np.diff(row_ptr) == 16).all()
    assert col_idx.dtype == row_ptr.dtype == np.int32
    assert col_idx.min() >= 0 and col_idx.max() < 64
    assert any(len(set(row)) < 16 for row in rows.tolist())
    assert any((np.diff(row) < 0).any() for row in rows)


class TestColumnsByMt19937:
    def test_the_generator_is_that_of_the_standard(self):
        """[rand.predef]: the 10,000th number of a default-seeded std::mt19937 is 4123659995."""
        for columns in (1 << 24, 8191):
            last = generate("mt19937", 625, columns, 16, 5489)[1][-1]
            assert last == 4123659995 % columns

    @pytest.mark.parametrize(
        ("rows", "depth", "found"),
        [(512, 112, 950), (512, 96, 1013), (512, 80, 974), (512, 32, 1055), (256, 32, 2089)],
    )
    def test_b_goes_on_where_a_ended(self, rows: int, depth: int, found: int):
        """Of source 002's program, counted apart from this code: seed 42, 16 blocks a row, whatever
        seed the values have."""
        workload = drawn_workload(
            seed=42,
            m=8192,
            n=8192,
            k=-(-8192 // depth) * depth,
            pattern=PatternSpec("mt19937", rows, depth, 16),
            pattern_b=PatternSpec("mt19937", depth, 128, 16, "first_hit"),
        )
        a, b = workload_blocks(workload, 1)
        assert count_found(a.col_idx, b.found()) == found


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("blocks", [2, 7, 16])
def test_searched_blocks_are_what_the_kernels_search_finds(blocks: int, seed: int, search: str):
    row_ptr, col_idx = drawn_rows(24, 20, blocks, seed)
    found = searched_blocks(row_ptr, col_idx, 20, search)
    for row, wanted in np.ndindex(24, 20):
        begin = row * blocks
        place = SEARCHES[search](col_idx[begin : begin + blocks].tolist(), wanted)
        assert found[row, wanted] == (-1 if place < 0 else begin + place)
