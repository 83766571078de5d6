"""Units: each written one way on pages and in sentences, and turned into its base."""

import pytest

from assay.judging.printed_figures import from_base, to_base
from assay.records.units import Unit, unit_as_written


@pytest.mark.parametrize("unit", [unit for unit in Unit if unit.facts.base])
def test_a_figure_turned_into_its_base_and_back_is_the_same(unit: Unit):
    value, base = to_base(4.0, unit)
    assert base.facts.factor == 1.0 and base.base is base
    assert from_base(value, unit) == pytest.approx(4.0, rel=1e-12)


@pytest.mark.parametrize(
    ("unit", "based"),
    [
        (Unit.GFLOP_PER_S, (0.002, Unit.TFLOP_PER_S)),
        (Unit.TB_PER_S, (2000.0, Unit.GB_PER_S)),
        (Unit.US, (0.002, Unit.MS)),
        (Unit.S, (2000.0, Unit.MS)),
        (Unit.NS, (0.000002, Unit.MS)),
        (Unit.PERCENT, (1.02, Unit.RATIO)),
    ],
)
def test_the_factors(unit: Unit, based: tuple[float, Unit]) -> None:
    assert to_base(2.0, unit) == based


@pytest.mark.parametrize(
    "text", ["KB/s", "MB/s", "MFLOP/s", "kflops", "m", "min", "Mbytes/s", "ks"]
)
def test_a_unit_of_another_size_is_none(text: str):
    """A thousand times as much would be judged, by a slip of nobody's."""
    assert unit_as_written(text) is None
