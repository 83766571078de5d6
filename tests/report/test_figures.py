"""The pictures: self-contained SVG in the page's own colours, and places that follow the values."""

import re
from pathlib import Path

import pytest

from assay.report.figures.figure_traces import drawn
from assay.report.figures.svg import LogScale, Scale, in_words

AT, CLOCK, POWER = (0.0, 0.1), (1755.0, 1740.0), (620.0, 625.0)


@pytest.fixture(scope="module")
def pictures(full_report: Path) -> list[str]:
    """Every picture of a small report's appendix: a roofline, traces."""
    return re.findall(
        r"<svg role=.*?</svg>", (full_report / "appendix.html").read_text(), re.DOTALL
    )


def test_pictures_have_no_style_sheet_and_colours_follow_the_page(pictures: list[str]) -> None:
    assert len(pictures) == 2
    for svg in pictures:
        assert not re.search(r"<metadata|<style|<\?xml|<!DOCTYPE", svg)
        assert "var(--fig-ink, #1c2128)" in svg
        assert ": #1c2128" not in svg


class TestTraces:
    """Clock, power and turn times, one below the other."""

    def test_places_follow_the_values(self) -> None:
        svg = drawn([], [], {"arm": [(0.0, 1.0), (1.0, 1.5), (2.0, 2.0)]}, None, "a")
        places = re.findall(r'<use href="#a-0" x="([\d.]+)" y="([\d.]+)"', svg)
        (left, low), (middle, half), (right, high) = ((float(x), float(y)) for x, y in places)
        assert left < middle < right
        assert middle - left == pytest.approx(right - middle, abs=0.02)
        assert low > half > high, "y grows downwards"

    def test_a_steady_clock_is_a_line_of_two_points(self) -> None:
        at = tuple(0.1 * number for number in range(9))
        svg = drawn([(at, (1980.0,) * 9, (500.0, *(600.0,) * 8))], [], {}, None, "a")
        lines = re.findall(r'<path d="M([\d. ]+)" style="[^"]*--series-\d', svg)
        assert [len(line.split()) // 2 for line in lines] == [2, 3]

    @pytest.mark.parametrize("spans", [[], [(0.0, 0.05)]])
    def test_discarded_blocks_are_shaded_in_every_panel(self, spans):
        svg = drawn([(AT, CLOCK, POWER)], spans, {"arm": [(0.02, 1.0)]}, 700.0, "a")
        assert svg.count("<rect ") == 3 * len(spans)
        assert svg.count("stroke-dasharray") == 1


class TestTicks:
    """Round values inside the scale."""

    @pytest.mark.parametrize(
        ("low", "high", "most", "ticks"),
        [
            (0, 10, 5, [0, 2, 4, 6, 8, 10]),
            (0.9, 1.1, 4, [0.9, 0.95, 1.0, 1.05, 1.1]),
            (-1.5, 1.5, 4, [-1, 0, 1]),
            (343, 664, 6, [400, 500, 600]),
            (1750, 1980, 4, [1800, 1900]),
            (0.12, 0.29, 2, [0.15, 0.2, 0.25]),
        ],
    )
    def test_are_round(self, low: float, high: float, most: int, ticks: list[float]) -> None:
        assert Scale(low, high, 0, 1).ticks(most) == pytest.approx(ticks)

    def test_have_as_many_decimals_as_tell_them_apart(self) -> None:
        assert [text for _, text in in_words([0.95, 1.0, 1.05])] == ["0.95", "1.00", "1.05"]
        assert [text for _, text in in_words([400.0, 500.0])] == ["400", "500"]


def test_a_log_scale_puts_equal_ratios_equally_far_apart() -> None:
    scale = LogScale(1, 100, 20, 40)
    assert [scale(value) for value in (1, 10, 100)] == pytest.approx([20, 30, 40])
