"""Statistics against known truths: estimates, pairing, coverage, the noise floor."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import stats
from tests import builders as b


class TestEstimate:
    def test_is_the_median_over_processes_of_the_median_over_blocks(self) -> None:
        values = [[0.1, 0.2, 9.0], [0.3, 0.3, 0.3], [0.5, 0.4, -9.0]]
        summary = stats.summarise(values, 9, 0, b.judging())
        assert summary.estimate == pytest.approx(0.3)
        assert (summary.processes, summary.blocks, summary.samples) == (3, 9, 9)

    def test_processes_may_have_different_numbers_of_blocks(self) -> None:
        values = [[0.0], [0.1, 0.1], [0.2, 0.2, 0.2, 50.0]]
        summary = stats.summarise(values, 7, 0, b.judging())
        assert summary.estimate == pytest.approx(0.1)
        assert math.isfinite(summary.low) and math.isfinite(summary.high)

    def test_a_single_process_has_no_interval(self) -> None:
        with pytest.raises(ValueError, match="at least two processes"):
            stats.summarise([[1.0, 2.0]], 2, 0, b.judging())
        record = b.benchmark(processes=1)
        assert stats.arm_time(record, "ours", b.judging()) is None

    def test_pools_both_turns_of_a_block(self) -> None:
        summary = stats.arm_time(b.benchmark(), "ours", b.judging())
        assert summary is not None
        assert summary.value() == pytest.approx(b.TIMES_MS["ours"], rel=0.02)
        assert summary.samples == 5 * 4 * 2 * 3

    def test_void_blocks_do_not_count_and_are_counted(self) -> None:
        record = b.benchmark(void="thermal slowdown")
        assert stats.arm_time(record, "ours", b.judging()) is None
        assert stats.discarded_blocks(record) == 20

    def test_same_record_same_numbers(self) -> None:
        first = stats.arm_time(b.benchmark(), "ours", b.judging())
        second = stats.arm_time(b.benchmark(), "ours", b.judging())
        assert first == second

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
        """The medians of resamples all agree here; the processes do not."""
        values = [[-0.1], *([[0.0]] * 7), [0.1]]
        summary = stats.summarise(values, 9, 0, b.judging())
        # t(0.95, 8 degrees of freedom) = 1.8595; the deviation is 0.05, of the mean a third of it.
        assert summary.low == pytest.approx(-1.8595 * 0.05 / 3, abs=1e-5)
        assert summary.high == pytest.approx(1.8595 * 0.05 / 3, abs=1e-5)

    def test_of_five_equal_weights_reaches_from_least_to_most(self) -> None:
        """Three of five draws fall on the least value in 5.8 % of resamples: above the 5 % tail."""
        values = [[0.00], [0.01], [0.02], [0.03], [0.04]]
        summary = stats.summarise(values, 5, 0, b.judging(bootstrap_resamples=5000))
        assert (summary.low, summary.high) == pytest.approx((0.0, 0.04), abs=1e-12)

    def test_an_outlying_median_widens_it(self) -> None:
        """Blocks that scatter inside equal processes show in the bootstrap alone."""
        blocks = [-0.1, 0.0, 0.1]
        summary = stats.summarise([blocks] * 5, 15, 0, b.judging())
        assert summary.low < -0.05 and summary.high > 0.05

    def test_more_confidence_is_wider(self) -> None:
        values = [[0.00], [0.01], [0.03], [0.02], [0.05]]
        usual = stats.summarise(values, 5, 0, b.judging())
        strict = stats.summarise(values, 5, 0, b.judging(confidence=0.99))
        assert strict.low < usual.low and strict.high > usual.high


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

    def test_a_to_a_of_unbiased_turns_is_small(self) -> None:
        floor = stats.noise_floor(b.benchmark(), "rival", b.judging())
        assert floor is not None and floor < 0.01

    def test_a_biased_control_raises_the_floor(self) -> None:
        floor = stats.noise_floor(b.benchmark(control_bias=0.1), "rival", b.judging())
        assert floor is not None
        assert math.expm1(0.1) < floor < 0.13

    def test_no_control_turns_no_floor(self) -> None:
        assert stats.noise_floor(b.benchmark(), "absent", b.judging()) is None


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


class TestCoverage:
    """A 90 % interval from five processes must hold the truth about nine times in ten."""

    @pytest.mark.parametrize(("process_sd", "block_sd"), [(0.02, 0.005), (0.005, 0.03)])
    def test_interval_covers_at_its_nominal_level(self, process_sd: float, block_sd: float) -> None:
        generator = np.random.Generator(np.random.PCG64(42))
        trials, held = 400, 0
        judging = b.judging(bootstrap_resamples=200)
        for _ in range(trials):
            centres = generator.normal(0, process_sd, 5)
            values = [list(generator.normal(centre, block_sd, 4)) for centre in centres]
            summary = stats.summarise(values, 20, 0, judging)
            held += summary.low <= 0 <= summary.high
        # Three standard errors of a share of 0.9 over 400 trials are 0.045.
        assert held / trials >= 0.9 - 0.045

    def test_is_not_so_wide_that_nothing_can_be_decided(self) -> None:
        generator = np.random.Generator(np.random.PCG64(43))
        widths = []
        for _ in range(100):
            values = [list(generator.normal(c, 0.002, 4)) for c in generator.normal(0, 0.01, 5)]
            summary = stats.summarise(values, 20, 0, b.judging(bootstrap_resamples=200))
            widths.append(summary.high - summary.low)
        # 2 * t(4) * sd / sqrt(5) is 0.019; the 5 % margin is more than twice the half-width.
        assert np.median(widths) < 0.03
