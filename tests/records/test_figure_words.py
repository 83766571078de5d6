"""Figures as people read them: digits of what is measured, printed, declared."""

import pytest

from assay.records.figure_words import declared_percent, number, percent, printed, quantity, short


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
def test_what_a_source_prints_keeps_its_digits(
    value: float, resolution: float | None, text: str
) -> None:
    assert printed(value, resolution) == text


def test_what_is_declared_has_no_zeros_at_its_end() -> None:
    assert (short(0.001), short(1.5), short(700.0), short(100.0)) == ("0.001", "1.5", "700", "100")
    assert short(20.0110, 6) == "20.011"
    assert (short(1.5e-10), short(-1.23e20), short(1e20)) == ("1.5e-10", "-1.23e+20", "1e+20")


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.12, "12.0 %"), (0.0082, "0.820 %"), (0.003124, "0.312 %"), (0.4586, "45.9 %"),
     (1.0, "100 %"), (12.3456, "1235 %"), (0.0, "0 %")],
)  # fmt: skip
def test_measured_shares_are_per_cent_to_three_digits(fraction: float, text: str) -> None:
    assert percent(fraction) == text


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.08, "8 %"), (0.9, "90 %"), (0.083, "8.3 %"), (0.9875, "98.8 %")]
)
def test_declared_shares_have_no_zeros_at_their_end(fraction: float, text: str) -> None:
    assert declared_percent(fraction) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.01968, "ms", "19.68 µs"), (0.114, "ms", "0.1140 ms"), (1342.0, "us", "1.342 ms"),
     (17248.0, "gflop_per_s", "17.25 TFLOP/s"), (645.0, "tflop_per_s", "645.0 TFLOP/s"),
     (16.0, "lines", "16 lines"),
     (1.22, "ratio", "1.220\N{MULTIPLICATION SIGN}")],
)  # fmt: skip
def test_a_measured_figure_stands_in_the_unit_that_people_read(
    value: float, unit: str, text: str
) -> None:
    assert quantity(value, unit) == text
