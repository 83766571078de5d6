"""Summaries are made once for each record, and are those of ``statistics.summaries``."""

import pytest

from assay.statistics import shared_summaries, summaries
from assay.statistics.shared_summaries import SharedSummaries
from tests import builders as b


def test_they_are_those_of_the_functions_and_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, record, rules = SharedSummaries(), b.benchmark(), b.judging()
    time = shared.arm_time(record, "ours", rules)
    ratio = shared.time_ratio(record, "ours", "rival", rules)
    assert time == summaries.arm_time(record, "ours", rules)
    assert ratio == summaries.time_ratio(record, "ours", "rival", rules)
    assert shared.arm_time(record, "absent", rules) is None
    floor = shared.noise_floor(record, "rival", rules)
    monkeypatch.delattr(shared_summaries, "arm_time")
    monkeypatch.delattr(shared_summaries, "time_ratio")
    assert shared.arm_time(record, "ours", b.judging()) is time
    assert shared.time_ratio(record, "ours", "rival", b.judging()) is ratio
    assert shared.arm_time(record, "absent", rules) is None
    assert floor == shared.noise_floor(record, "rival", rules)


def test_other_records_and_other_rules_are_summarised_anew() -> None:
    shared, record = SharedSummaries(), b.benchmark()
    asked = [
        (record, "ours", b.judging()),
        (record, "rival", b.judging()),
        (b.benchmark(seed=9), "ours", b.judging()),
        (record, "ours", b.judging(confidence=0.99)),
    ]
    found = [shared.arm_time(*each) for each in asked]
    assert found == [summaries.arm_time(*each) for each in asked]
    assert len(shared) == len(asked)
