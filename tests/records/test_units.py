"""Units: each written one way on pages and in sentences, and turned into its base."""

import pytest

from assay.base.errors import BadInput
from assay.catalog.as_written import unit_meant
from assay.judging.case import from_base, to_base
from assay.records import figure_words
from assay.records.units import Unit, unit_as_written
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
    assert to_base(2.0, Unit.S) == (2000.0, Unit.MS)
    assert to_base(2.0, Unit.NS) == (0.000002, Unit.MS)
    assert to_base(50.0, Unit.PERCENT) == (1.5, Unit.RATIO)


@pytest.mark.parametrize("unit", [Unit.COUNT, Unit.LINES, Unit.MAX_ABS_ERROR])
def test_what_is_counted_is_judged_by_no_measurement(unit: Unit):
    with pytest.raises(BadInput, match=unit.value):
        to_base(1.0, unit)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(6.1695, "ratio", "6.170\N{MULTIPLICATION SIGN}"), (3.0, "us", "3.000 µs"),
     (2.0, "s", "2.000 s"), (3.0, "count", "3"), (18666.0, "lines", "18666 lines"),
     (3.0, "lines", "3 lines"), (459.089, "tflop_per_s", "459.1 TFLOP/s"),
     (3.0, "furlong", "3.000 furlong")],
)  # fmt: skip
def test_sentences_and_cells_write_a_figure_alike(value: float, unit: str, text: str):
    assert figure_words.quantity(value, unit) == text
    assert quantity(value, unit) == text.replace(" ", "\N{NO-BREAK SPACE}")


def test_people_may_write_a_ratio_and_microseconds_in_ascii():
    assert unit_as_written("x") is Unit.RATIO
    assert unit_as_written("us") is Unit.US


@pytest.mark.parametrize(
    "text", ["tflop/sec", "TFLOPs/sec", "GFLOP/sec", "pflop/sec", "s", "sec", "ns"]
)
def test_rates_and_seconds_are_known(text: str):
    assert unit_as_written(text) is not None


@pytest.mark.parametrize(
    "text", ["KB/s", "MB/s", "MFLOP/s", "kflops", "m", "min", "Mbytes/s", "ks"]
)
def test_a_unit_of_another_size_is_not_suggested(text: str):
    """A thousand times as much would be judged, by a slip of nobody's."""
    assert unit_as_written(text) is None
    assert unit_meant(text).startswith("; known: ")


@pytest.mark.parametrize(
    ("text", "meant"),
    [("GBs/s", "GB/s"), ("TBps", "TB/s"), ("TF/s", "TFLOP/s"), ("tlops", "TFLOP/s"),
     ("mss", "ms"), ("usecs", "us"), ("nsecs", "ns"), ("secs", "s"), ("tims", "x"),
     ("percnt", "%")],
)  # fmt: skip
def test_a_slip_has_what_is_meant(text: str, meant: str):
    assert unit_meant(text) == f": did you mean '{meant}'?"
