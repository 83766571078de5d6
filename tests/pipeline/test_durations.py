"""The likely duration of a run: starts of steps count, and compilers share the cores."""

import pytest

from assay.pipeline.durations import START_S, STEP_S, Step, compiling_seconds, estimate
from assay.records.timings import Stage


def build(name: str) -> Step:
    return Stage.BUILD, frozenset({"artifact": name, "arch": "sm_90a"}.items())


JUDGE: Step = (Stage.JUDGE, frozenset())
BENCHMARK: Step = (Stage.BENCHMARK, frozenset({("target", "h100")}))


def test_every_step_takes_its_start() -> None:
    found = estimate([build("a"), build("b"), JUDGE], {build("a"): 3.0, build("b"): 3.0}, 2)
    assert found.seconds == pytest.approx(START_S + (3 + STEP_S) + STEP_S)
    assert (found.gpu_seconds, found.unknown) == (0, (JUDGE,))


def test_what_holds_a_gpu_is_told_apart() -> None:
    found = estimate([BENCHMARK], {BENCHMARK: 600.0}, 16)
    assert found.gpu_seconds == 600
    assert found.seconds == pytest.approx(600 + STEP_S + START_S)


def test_nothing_left_takes_nothing() -> None:
    assert estimate([], {}, 2).seconds == 0


def test_the_longest_compilation_starts_first() -> None:
    assert compiling_seconds([1.0, 1.0, 10.0], 2) == pytest.approx(10 + STEP_S)
    assert compiling_seconds([], 2) == 0
