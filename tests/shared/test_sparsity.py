"""Patterns: ragged rows, and columns as a generator throws them, with what a search finds there."""

from itertools import pairwise

import numpy as np
import pytest

from assay.shared.sparsity import (
    columns_rise,
    count_found,
    count_products,
    digest,
    drawn_rows,
    generate,
    ragged_rows,
    random_rows,
    searched_blocks,
    sliding_window_sinks,
    strided,
)


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


def rows_of(pattern: tuple[np.ndarray, np.ndarray]) -> list[list[int]]:
    """Columns of each row."""
    return [pattern[1][begin:end].tolist() for begin, end in pairwise(pattern[0])]


def test_a_window_with_sinks_keeps_the_first_blocks_and_ends_at_the_diagonal():
    rows = rows_of(sliding_window_sinks(6, 6, 3))
    assert rows == [[0], [0, 1], [0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]]
    assert rows_of(sliding_window_sinks(4, 4, 3, sinks=2)) == [[0], [0, 1], [0, 1, 2], [0, 1, 3]]
    assert rows_of(generate("sliding_window_sinks", 6, 6, 3, 9)) == rows
    with pytest.raises(ValueError, match="leave a window of 2 blocks a row nothing"):
        sliding_window_sinks(4, 4, 2, sinks=2)


def test_strided_columns_are_evenly_spaced_and_every_column_is_read_as_often():
    rows = rows_of(strided(4, 8, 2))
    assert rows == [[0, 4], [1, 5], [2, 6], [3, 7]] == rows_of(generate("strided", 4, 8, 2, 1))
    square = rows_of(strided(8, 8, 2))
    assert all(row in columns for row, columns in enumerate(square))
    assert np.bincount(np.concatenate(square)).tolist() == [2] * 8
    with pytest.raises(ValueError, match="do not fit"):
        strided(4, 4, 5)


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


class TestDrawnColumns:
    def test_some_come_twice_and_some_fall(self):
        row_ptr, col_idx = drawn_rows(64, 64, 16, seed=1)
        rows = col_idx.reshape(64, 16)
        assert (np.diff(row_ptr) == 16).all()
        assert col_idx.dtype == row_ptr.dtype == np.int32
        assert col_idx.min() >= 0 and col_idx.max() < 64
        assert any(len(set(row)) < 16 for row in rows.tolist())
        assert any((np.diff(row) < 0).any() for row in rows)

    def test_the_seed_decides_all(self):
        first, again = (generate("drawn", 64, 64, 16, 5) for _ in range(2))
        assert digest(*first) == digest(*again) != digest(*generate("drawn", 64, 64, 16, 6))
        # Pinned: these columns are part of the protocol.
        assert first[1][:8].tolist() == [42, 51, 1, 51, 30, 32, 40, 18]


class TestSearchedBlocks:
    @pytest.mark.parametrize("search", SEARCHES)
    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("blocks", [2, 7, 16])
    def test_it_finds_what_the_kernels_search_finds(self, blocks: int, seed: int, search: str):
        row_ptr, col_idx = drawn_rows(24, 20, blocks, seed)
        found = searched_blocks(row_ptr, col_idx, 20, search)
        for row, wanted in np.ndindex(24, 20):
            begin = row * blocks
            place = SEARCHES[search](col_idx[begin : begin + blocks].tolist(), wanted)
            assert found[row, wanted] == (-1 if place < 0 else begin + place)

    def test_of_drawn_columns_the_first_hit_finds_about_twice_as_many(self):
        columns = drawn_rows(256, 64, 16, 1)
        counts = [int((searched_blocks(*columns, 64, name) >= 0).sum()) for name in SEARCHES]
        assert 1.6 < counts[1] / counts[0] < 2.6

    def test_another_search_is_unknown(self):
        with pytest.raises(ValueError, match="unknown search 'linear'"):
            searched_blocks(*drawn_rows(2, 4, 2, 1), 4, "linear")

    @pytest.mark.parametrize("search", SEARCHES)
    @pytest.mark.parametrize(
        "kind", ["random", "ragged", "sliding_window", "sliding_window_sinks", "strided"]
    )
    def test_where_columns_rise_it_finds_every_block(self, kind: str, search: str):
        row_ptr, col_idx = generate(kind, 12, 16, 4, 3)
        found = searched_blocks(row_ptr, col_idx, 16, search)
        assert sorted(found[found >= 0].tolist()) == list(range(len(col_idx)))

    def test_a_column_that_is_stored_twice_is_found_once(self):
        found = searched_blocks(np.array([0, 3], np.int32), np.array([2, 2, 2], np.int32), 4)
        assert found.tolist() == [[-1, -1, 0, -1]]

    def test_a_matrix_without_blocks_holds_none(self):
        empty = np.zeros(3, np.int32), np.zeros(0, np.int32)
        assert (searched_blocks(*empty, 4) == -1).all()


class TestProducts:
    def test_sorted_columns_lose_none(self):
        a, b = random_rows(8, 16, 4, 1), random_rows(16, 8, 3, 2)
        found = searched_blocks(*b, 8)
        assert count_found(a[1], found) == count_products(*a, *b) == 8 * 4 * 3

    def test_unsorted_ones_lose_some_and_a_repeated_column_of_a_counts_again(self):
        a, b = drawn_rows(8, 16, 4, 1), drawn_rows(16, 64, 16, 2)
        found = searched_blocks(*b, 64)
        done = sum(int((found[col] >= 0).sum()) for col in a[1])
        assert count_found(a[1], found) == done < count_products(*a, *b) == 8 * 4 * 16


@pytest.mark.parametrize(
    ("row_ptr", "col_idx", "rise"),
    [
        ([0, 2, 4], [1, 3, 0, 2], True),
        ([0, 2, 2, 3], [0, 1, 0], True),
        ([0, 2], [1, 0], False),
        ([0, 2], [1, 1], False),
        ([0, 0, 0], [], True),
    ],
)
def test_columns_rise_within_rows_and_not_between(row_ptr, col_idx, rise):
    assert columns_rise(np.array(row_ptr, np.int32), np.array(col_idx, np.int32)) is rise
