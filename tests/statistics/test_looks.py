"""Sequential designs: how the error is shared out among looks, and what few processes leave out."""

import math

import pytest

from assay.statistics import summaries as stats
from assay.statistics.looks import at_look, least_half_width
from tests import builders as b

LOOKS = (3, 5, 8, 12)


def test_the_looks_share_out_the_error_of_the_confidence() -> None:
    given = b.judging(confidence=0.9)
    errors = [1 - at_look(given, LOOKS, look).confidence for look in LOOKS]
    assert sum(errors) == pytest.approx(0.1)
    assert all(0.015 < error < 0.04 for error in errors)


def test_between_two_looks_the_one_before_counts() -> None:
    given = b.judging()
    assert at_look(given, LOOKS, 7) == at_look(given, LOOKS, 5)
    assert at_look(given, LOOKS, 2) == at_look(given, LOOKS, 3)


@pytest.mark.parametrize("looks", [(), (5,)])
def test_a_fixed_number_of_processes_changes_no_rule(looks: tuple[int, ...]) -> None:
    given = b.judging(state_gap=0.03)
    assert at_look(given, looks, 5) is given
    assert least_half_width(given, looks, 5) == 0


def test_few_processes_may_all_have_met_one_state_of_two() -> None:
    given, record = b.judging(state_gap=0.03), b.benchmark(process_sd=1e-6, processes=3)
    alone = stats.arm_time(record, "ours", given)
    looked = stats.arm_time(record.model_copy(update={"looks": LOOKS}), "ours", given)
    half = math.log1p(0.03) * math.log(5) / 3
    assert looked.high - looked.estimate == pytest.approx(half)
    assert looked.estimate - looked.low == pytest.approx(half)
    assert alone.high - alone.low < half
