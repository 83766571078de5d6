"""Solutions and their references as a leaderboard lists them."""

import pytest

from assay.judging.judge import judge
from assay.judging.leaderboard import leaderboard_rows
from assay.records.units import Unit
from tests import builders as b
from tests.judging.asked import rate

CLAIM = b.claim("faster", rate(over="rival"), value=0.833, unit=Unit.RATIO)


def row(check, timed=None):
    catalog = b.catalog([CLAIM, b.claim("rate", rate())])
    asked = [b.measure(name, "h100") for name in ("faster", "rate")]
    evidence = b.evidence(asked, benchmarks=[timed or b.benchmark()], checks=[check])
    (found,) = leaderboard_rows(catalog, evidence, judge(catalog, evidence).verdicts)
    return found


def test_a_right_solution_has_times_and_an_interval():
    found = row(b.correctness())
    assert (found["problem"], found["solution"]) == ("Ours against cuBLAS", "Our kernel")
    assert (found["correct"], found["verdict"], found["cause"]) == ("yes", "reproduced", None)
    assert found["solution_ms"] == pytest.approx(b.TIMES_MS["ours"], rel=0.02)
    assert found["reference_ms"] == pytest.approx(b.TIMES_MS["rival"], rel=0.02)
    assert found["low"] < found["speedup"] < found["high"]
    assert found["solution_low_ms"] < found["solution_ms"] < found["solution_high_ms"]


@pytest.mark.parametrize(
    ("status", "wrong", "correct", "verdict", "cause"),
    [
        ("incorrect", (), "no", "incorrect", "timed_shape"),
        ("correct", ("ours",), "no", "incorrect", "timed_run"),
        ("failed", (), None, "not_run", "run_failed"),
    ],
)
def test_what_was_caught_has_no_time(status, wrong, correct, verdict, cause):
    timed = b.benchmark({"rival": b.TIMES_MS["rival"]})
    timed = timed.model_copy(update={"wrong": wrong, "not_timed": {"ours": "incorrect: wrong"}})
    found = row(b.correctness(statuses={"ours": status}), timed)
    assert (found["correct"], found["verdict"], found["cause"]) == (correct, verdict, cause)
    assert (found["solution_ms"], found["solution_low_ms"], found["speedup"]) == (None, None, None)
    assert found["reference_ms"] == pytest.approx(b.TIMES_MS["rival"], rel=0.02)
