"""Linear layers: each sparse one over the dense one of as many weights and tokens."""

from dataclasses import replace

import pytest

from assay.findings.layers import LayerPoint, LayerTable, layer_tables
from assay.judging.case import Case
from tests.layer_fixtures import SPEEDUPS, layers_case


@pytest.fixture(scope="module")
def table() -> LayerTable:
    (found,) = layer_tables(layers_case())
    return found


def test_a_row_a_layer_and_a_column_a_number_of_tokens(table: LayerTable) -> None:
    assert table.target == "h200"
    assert table.tokens == (1, 64, 1024, 8192)
    layers = [(row.out_features, row.in_features, row.zero) for row in table.rows]
    zeros = (16 / 32, 24 / 32, 29 / 32)
    assert layers == [(size, 4096, zero) for size in (4096, 14336) for zero in zeros]


def test_each_is_the_dense_time_over_its_own(table: LayerTable) -> None:
    for row, speedup in zip(table.rows, list(SPEEDUPS.values()) * 2, strict=True):
        found = [point.speedup.value() for point in row.points if point is not None]
        expected = [factor * speedup for factor in (0.5, 0.5, 1.0, 1.5)]
        assert found == pytest.approx(expected, rel=0.01)


def test_it_pays_where_the_whole_interval_lies_above_one(table: LayerTable) -> None:
    pays = [[bool(point and point.pays) for point in row.points] for row in table.rows[:3]]
    # Twice as fast at half is level: its interval holds 1.
    level = table.rows[1].points[0]
    assert isinstance(level, LayerPoint)
    low, high = level.speedup.interval()
    assert low < 1 < high
    assert pays == [
        [False, False, False, True],
        [False, False, True, True],
        [True, True, True, True],
    ]


def test_from_which_share_of_zeros_on_every_layer_pays(table: LayerTable) -> None:
    assert table.pays_from() == {1: 29 / 32, 64: 29 / 32, 1024: 24 / 32, 8192: 0.5}


def test_a_layer_that_does_not_pay_ends_the_row_of_those_that_do(table: LayerTable) -> None:
    """Of the two sizes one loses: at that share it does not pay, nor below it."""
    lost = replace(table.rows[1], points=table.rows[0].points)
    found = replace(table, rows=(table.rows[0], lost, *table.rows[2:])).pays_from()
    assert found == {1: 29 / 32, 64: 29 / 32, 1024: 29 / 32, 8192: 0.5}


def test_what_pays_nowhere_and_what_nobody_measured(table: LayerTable) -> None:
    sparse = [row for row in table.rows if row.zero == 0.5]
    assert replace(table, rows=tuple(sparse)).pays_from()[1] is None
    unmeasured = [replace(row, points=(None,) * len(table.tokens)) for row in table.rows]
    assert set(replace(table, rows=tuple(unmeasured)).pays_from().values()) == {None}


def test_a_wrong_output_has_no_figure_and_a_wrong_dense_layer_leaves_none() -> None:
    (table,) = layer_tables(layers_case(frozenset({"s50_4096_t1024", "dense_4096_t8192"})))
    measured = [[point is not None for point in row.points] for row in table.rows[:3]]
    assert measured == [
        [True, True, False, False], [True, True, True, False], [True, True, True, False],
    ]  # fmt: skip


def test_evidence_without_layers_has_no_table() -> None:
    case = layers_case()
    case.evidence.benchmarks.clear()
    assert layer_tables(Case(case.catalog, case.evidence)) == ()
