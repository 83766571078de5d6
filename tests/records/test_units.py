"""Units: each written one way on pages, one way in sentences, and turned into its base."""

import pytest

from assay.base.errors import BadInput
from assay.judging.case import from_base, to_base, with_unit
from assay.records.units import Unit
from assay.report.formatting import quantity


@pytest.mark.parametrize("unit", [unit for unit in Unit if unit.facts.base])
def test_a_figure_turned_into_its_base_and_back_is_the_same(unit: Unit):
    value, base = to_base(4.0, unit)
    assert base.facts.factor == 1.0 and base.base is base
    assert from_base(value, unit) == pytest.approx(4.0, rel=1e-12)


def test_the_factors():
    assert to_base(2.0, Unit.GFLOP_PER_S) == (0.002, Unit.TFLOP_PER_S)
    assert to_base(2.0, Unit.TB_PER_S) == (2000.0, Unit.GB_PER_S)
    assert to_base(2.0, Unit.US) == (0.002, Unit.MS)
    assert to_base(50.0, Unit.PERCENT) == (1.5, Unit.RATIO)


@pytest.mark.parametrize("unit", [Unit.COUNT, Unit.LINES, Unit.MAX_ABS_ERROR])
def test_what_is_counted_is_judged_by_no_measurement(unit: Unit):
    with pytest.raises(BadInput, match=unit.value):
        to_base(1.0, unit)


def test_sentences_are_ascii_and_pages_are_not():
    assert with_unit(1.5, Unit.RATIO) == "1.5x"
    assert with_unit(3.0, Unit.US) == "3 us"
    assert with_unit(3.0, Unit.LINES) == "3 lines"
    assert quantity(1.5, "ratio") == "1.500\N{MULTIPLICATION SIGN}"
    assert quantity(3.0, "us") == "3\N{NO-BREAK SPACE}µs"
    assert quantity(3.0, "count") == "3"
    assert quantity(3.0, "furlong") == "3\N{NO-BREAK SPACE}furlong"
