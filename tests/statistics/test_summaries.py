"""Statistics against known truths: estimates, pairing, coverage, the noise floor."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics import summaries as stats
from assay.statistics.intervals import half_width
from tests import builders as b


class TestEstimate:
    def test_is_the_median_over_processes_of_the_median_over_blocks(self) -> None:
        values = [[0.1, 0.2, 9.0], [0.3, 0.3, 0.3], [0.5, 0.4, -9.0]]
        summary = stats.summarise(values, b.judging())
        assert summary.estimate == pytest.approx(0.3)
        assert (summary.processes, summary.blocks, summary.samples) == (3, 9, 9)

    def test_a_single_process_has_no_interval(self) -> None:
        with pytest.raises(ValueError, match="at least two processes"):
            stats.summarise([[1.0, 2.0]], b.judging())

    @given(
        st.lists(st.lists(st.floats(-2, 2), min_size=1, max_size=5), min_size=2, max_size=7),
        st.floats(-3, 3),
    )
    @settings(max_examples=40, deadline=None)
    def test_interval_holds_the_estimate_and_moves_with_the_data(self, values, shift):
        summary = stats.summarise(values, b.judging())
        moved = stats.summarise([[v + shift for v in row] for row in values], b.judging())
        assert summary.low <= summary.estimate <= summary.high
        for name in ("estimate", "low", "high"):
            assert getattr(moved, name) == pytest.approx(getattr(summary, name) + shift, abs=1e-9)


class TestInterval:
    def test_is_at_least_the_t_interval_over_processes(self) -> None:
        values = [[-0.1], *([[0.0]] * 7), [0.1]]
        summary = stats.summarise(values, b.judging(width_factor=1.0))
        # t(0.95, 8 degrees of freedom) = 1.8595; the deviation is 0.05, of the mean a third of it.
        half = 1.8595 * 0.05 / 3
        assert -1.1 * half < summary.low <= -half + 1e-6
        assert half - 1e-6 <= summary.high < 1.1 * half
        assert summary.spread == pytest.approx(0.05)

    def test_processes_that_agree_by_luck_still_show_the_scatter_inside_them(self) -> None:
        blocks = [-0.1, 0.0, 0.1]
        summary = stats.summarise([blocks] * 5, b.judging())
        assert summary.spread == 0
        assert summary.low < -0.01 and summary.high > 0.01

    def test_a_time_of_zero_is_a_time_no_hardware_reaches(self) -> None:
        summary = stats.arm_time(b.benchmark({"ours": 0.0, "rival": 0.2}), "ours", b.judging())
        assert summary is not None and summary.value() == pytest.approx(stats.LEAST_MS)


class TestRatios:
    def test_pairing_cancels_the_drift_of_a_process(self) -> None:
        record = b.benchmark(process_sd=0.05, block_sd=0.001)
        ratio = stats.time_ratio(record, "ours", "rival", b.judging())
        alone = stats.arm_time(record, "ours", b.judging())
        assert ratio.high - ratio.low < 0.6 * (alone.high - alone.low)

    @pytest.mark.parametrize(
        ("bias", "low", "high"), [(0.0, 0.0, 0.01), (0.1, math.expm1(0.1), 0.13)]
    )
    def test_a_bias_between_the_turns_is_the_noise_floor(self, bias, low, high):
        control = stats.time_ratio(b.benchmark(control_bias=bias), "rival", "control", b.judging())
        floor = stats.floor_of(control)
        assert floor is not None and low < floor < high
        assert stats.floor_of(None) is None


def test_rate_from_time_turns_the_interval_round() -> None:
    time = stats.Summary(math.log(2.0), math.log(1.0), math.log(4.0), 5, 20, 100, 0)
    rate = time.inverse(8.0)
    assert rate.value() == pytest.approx(4.0)
    assert rate.interval() == pytest.approx((2.0, 8.0))


def test_the_number_proposed_is_the_least_that_suffices() -> None:
    rules = b.judging()
    needed = stats.processes_needed(0.02, 0.01, rules, 6)
    assert half_width(0.02, needed, rules) <= 0.01 < half_width(0.02, needed - 1, rules)


def test_processes_at_two_clocks() -> None:
    values = [[0.0, 0.001], [0.001, 0.0], [0.05, 0.051], [0.051, 0.05], [0.0, 0.001]]
    modes = stats.summarise(values, b.judging()).modes
    assert modes is not None and (modes.of, modes.share) == ("processes", 0.6)
    assert modes.first == pytest.approx(0.0, abs=0.001)
    assert modes.second == pytest.approx(0.05, abs=0.001)
