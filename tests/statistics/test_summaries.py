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
        summary = stats.summarise(values, 9, 0, b.judging())
        assert summary.estimate == pytest.approx(0.3)
        assert (summary.processes, summary.blocks, summary.samples) == (3, 9, 9)

    def test_a_single_process_has_no_interval(self) -> None:
        with pytest.raises(ValueError, match="at least two processes"):
            stats.summarise([[1.0, 2.0]], 2, 0, b.judging())
        record = b.benchmark(processes=1)
        assert stats.arm_time(record, "ours", b.judging()) is None

    def test_void_blocks_do_not_count_and_are_counted(self) -> None:
        record = b.benchmark(void="thermal slowdown")
        assert stats.arm_time(record, "ours", b.judging()) is None
        assert stats.discarded_blocks(record) == 20

    @given(
        st.lists(st.lists(st.floats(-2, 2), min_size=1, max_size=5), min_size=2, max_size=7),
        st.floats(-3, 3),
    )
    @settings(max_examples=40, deadline=None)
    def test_interval_holds_the_estimate_and_moves_with_the_data(
        self, values: list[list[float]], shift: float
    ) -> None:
        summary = stats.summarise(values, 1, 0, b.judging())
        moved = stats.summarise([[v + shift for v in row] for row in values], 1, 0, b.judging())
        assert summary.low <= summary.estimate <= summary.high
        for name in ("estimate", "low", "high"):
            assert getattr(moved, name) == pytest.approx(getattr(summary, name) + shift, abs=1e-9)


class TestInterval:
    def test_is_at_least_the_t_interval_over_processes(self) -> None:
        values = [[-0.1], *([[0.0]] * 7), [0.1]]
        summary = stats.summarise(values, 9, 0, b.judging(width_factor=1.0))
        # t(0.95, 8 degrees of freedom) = 1.8595; the deviation is 0.05, of the mean a third of it.
        half = 1.8595 * 0.05 / 3
        assert -1.1 * half < summary.low <= -half + 1e-6
        assert half - 1e-6 <= summary.high < 1.1 * half
        assert summary.spread == pytest.approx(0.05)

    def test_processes_that_agree_by_luck_still_show_the_scatter_inside_them(self) -> None:
        blocks = [-0.1, 0.0, 0.1]
        summary = stats.summarise([blocks] * 5, 15, 0, b.judging())
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
        assert ratio is not None and alone is not None
        assert ratio.high - ratio.low < 0.6 * (alone.high - alone.low)

    def test_ratio_says_how_many_times_faster_the_arm_is(self) -> None:
        ratio = stats.time_ratio(b.benchmark(), "ours", "rival", b.judging())
        assert ratio is not None
        assert ratio.low <= math.log(0.2 / 0.06) <= ratio.high

    def test_a_biased_control_raises_the_floor(self) -> None:
        floor = stats.noise_floor(b.benchmark(control_bias=0.1), "rival", b.judging())
        assert floor is not None
        assert math.expm1(0.1) < floor < 0.13


class TestSummaryArithmetic:
    def test_rate_from_time_turns_the_interval_round(self) -> None:
        time = stats.Summary(math.log(2.0), math.log(1.0), math.log(4.0), 5, 20, 100, 0)
        rate = time.inverse(8.0)
        assert rate.value() == pytest.approx(4.0)
        assert rate.interval() == pytest.approx((2.0, 8.0))

    def test_quotient_of_two_summaries_adds_their_uncertainties(self) -> None:
        top = stats.Summary(math.log(6.0), math.log(5.0), math.log(7.0), 5, 20, 100, 1)
        bottom = stats.Summary(math.log(2.0), math.log(1.0), math.log(3.0), 6, 10, 50, 2)
        quotient = top.over(bottom)
        assert quotient.value() == pytest.approx(3.0)
        assert quotient.interval() == pytest.approx((5 / 3, 7.0))
        assert (quotient.processes, quotient.discarded_blocks) == (5, 3)

    def test_program_runs_are_processes_of_one_block(self) -> None:
        summary = stats.repeated_runs([600.0, 605.0, 610.0, 602.0, 607.0], b.judging())
        assert summary is not None
        assert summary.value() == pytest.approx(605.0)
        assert summary.processes == 5
        assert stats.repeated_runs([600.0], b.judging()) is None


class TestMoreProcesses:
    def test_the_number_proposed_is_the_least_that_suffices(self) -> None:
        rules = b.judging()
        needed = stats.processes_needed(0.02, 0.01, rules, 6)
        assert needed is not None
        assert half_width(0.02, needed, rules) <= 0.01 < half_width(0.02, needed - 1, rules)


class TestModes:
    """Two clusters are shown, never averaged away."""

    def test_processes_at_two_clocks(self) -> None:
        values = [[0.0, 0.001], [0.001, 0.0], [0.05, 0.051], [0.051, 0.05], [0.0, 0.001]]
        modes = stats.summarise(values, 10, 0, b.judging()).modes
        assert modes is not None and (modes.of, modes.share) == ("processes", 0.6)
        assert modes.first == pytest.approx(0.0, abs=0.001)
        assert modes.second == pytest.approx(0.05, abs=0.001)

    def test_launches_of_two_kinds_inside_equal_processes(self) -> None:
        values = [[0.0, 0.001, 0.1, 0.101]] * 5
        modes = stats.summarise(values, 20, 0, b.judging()).modes
        assert modes is not None and (modes.of, modes.share) == ("launches", 0.5)

    def test_one_stray_process_is_no_mode(self) -> None:
        values = [[0.0], [0.001], [0.002], [0.001], [0.2]]
        assert stats.summarise(values, 5, 0, b.judging()).modes is None

    def test_modes_move_with_the_figure(self) -> None:
        values = [[math.log(2.0)]] * 3 + [[math.log(4.0)]] * 2
        rate = stats.summarise(values, 5, 0, b.judging()).inverse(8.0).scaled(10.0)
        assert rate.modes is not None
        assert rate.modes.values() == pytest.approx((40.0, 20.0))
