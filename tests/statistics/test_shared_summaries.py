"""Summaries are made once per content, and are those of ``statistics.summaries``."""

import pytest

from assay.records.measurements import BenchmarkRecord
from assay.statistics import shared_summaries, summaries
from assay.statistics.shared_summaries import SharedSummaries
from tests import builders as b


def read_again(record: BenchmarkRecord) -> BenchmarkRecord:
    return BenchmarkRecord.model_validate_json(record.model_dump_json(by_alias=True))


def test_they_are_those_of_the_functions() -> None:
    shared, record, rules = SharedSummaries(), b.benchmark(), b.judging()
    assert shared.arm_time(record, "ours", rules) == summaries.arm_time(record, "ours", rules)
    ratio = shared.time_ratio(record, "ours", "rival", rules)
    assert ratio == summaries.time_ratio(record, "ours", "rival", rules)
    floor = shared.noise_floor(record, "rival", rules)
    assert floor == summaries.noise_floor(record, "rival", rules)
    assert shared.arm_time(record, "absent", rules) is None


def test_a_record_that_was_read_twice_is_summarised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, record, rules = SharedSummaries(), b.benchmark(), b.judging()
    first = shared.arm_time(record, "ours", rules)
    monkeypatch.delattr(shared_summaries, "summarise_cells")
    assert shared.arm_time(read_again(record), "ours", b.judging()) is first
    assert len(shared) == 1


def test_other_content_or_other_rules_are_summarised_anew() -> None:
    shared, record = SharedSummaries(), b.benchmark()
    asked = [
        (record, "ours", b.judging()),
        (record, "rival", b.judging()),
        (b.benchmark(seed=9), "ours", b.judging()),
        (b.benchmark(blocks=3), "ours", b.judging()),
        (record, "ours", b.judging(confidence=0.99)),
    ]
    found = [shared.arm_time(*each) for each in asked]
    assert found == [summaries.arm_time(*each) for each in asked]
    assert len(shared) == len(asked)
    shared.time_ratio(record, "ours", "rival", b.judging())
    shared.time_ratio(record, "rival", "ours", b.judging())
    assert len(shared) == len(asked) + 2
