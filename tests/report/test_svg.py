"""What the pictures are made of: ticks, scales, marks."""

import pytest

from assay.report.figures.svg import LogScale, Scale, in_words


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
