"""Figures as people read them: digits of what is measured, printed, declared."""

import pytest

from assay.records.units import number, printed, quantity


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (607.0, "607.0"), (412.96, "413.0"),
     (413.02, "413.0"), (4.0, "4.000"), (602.13, "602.1"), (0.171826, "0.1718"), (1.5, "1.500"),
     (18666.4, "18666"), (999.96, "1000"), (1e-7, "1e-07"), (-3.25, "-3.250")],
)  # fmt: skip
def test_what_is_measured_has_four_significant_digits(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "resolution", "text"),
    [(450.0, 1.0, "450"), (0.45, 0.001, "0.450"), (2.07, 0.01, "2.07"), (600.0, 100.0, "600"),
     (0.114, None, "0.114"), (274877906944.0, 0.0, "274877906944"), (1099511627776.0, 0.0,
     "1099511627776"), (0.1 + 0.2, None, "0.3")],
)  # fmt: skip
def test_what_a_source_prints_keeps_its_digits(value, resolution, text):
    assert printed(value, resolution) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.01968, "ms", "19.68 µs"), (0.114, "ms", "0.1140 ms"), (1342.0, "us", "1.342 ms"),
     (17248.0, "gflop_per_s", "17.25 TFLOP/s"), (645.0, "tflop_per_s", "645.0 TFLOP/s"),
     (16.0, "lines", "16 lines"),
     (1.22, "ratio", "1.220\N{MULTIPLICATION SIGN}")],
)  # fmt: skip
def test_a_measured_figure_stands_in_the_unit_that_people_read(value, unit, text):
    assert quantity(value, unit) == text
