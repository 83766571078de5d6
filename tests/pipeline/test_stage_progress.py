"""How far a workflow is, read off its lines."""

import pytest

from assay.cli.console import PlainConsole
from assay.cli.live_stages import LiveStages, card_words, stage_lines
from assay.pipeline.stage_progress import StageProgress, mean_seconds
from assay.records.timings import Stage

LINES = """\
Job stats:
job            count
-----------  -------
build              4
benchmark          1
judge              1
all                1
total              7

Job 6: build: bsr_gemm_wgmma for sm_90a
Job 7: build: bsr_gemm_mma for sm_90a
assay: build.sm_90a.bsr_gemm_wgmma: 3.9 s
Finished jobid: 6 (Rule: build)
1 of 7 steps (14%) done
""".splitlines()


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def progress(clock: Clock) -> StageProgress:
    found = StageProgress({"build": 10.0, "benchmark": 600.0}, cores=2, clock=clock)
    for line in LINES:
        found.see(line)
    return found


def test_steps_are_counted_by_stage(progress: StageProgress) -> None:
    assert list(progress.stages) == ["build", "benchmark", "judge"]
    build = progress.stages["build"]
    assert (build.total, build.begun, build.ended, build.running) == (4, 2, 1, True)
    assert not progress.stages["benchmark"].running


def test_what_is_left_goes_by_what_steps_took_before(progress: StageProgress, clock: Clock) -> None:
    """Three builds of 10 s and 2.2 s of start each, two at a time; then it counts down."""
    assert progress.left_s("build") == pytest.approx(18.3)
    clock.now += 5
    assert progress.left_s("build") == pytest.approx(13.3)
    assert progress.left_s("benchmark") == pytest.approx(602.2)
    assert progress.left_s("judge") is None
    assert progress.all_left_s() == pytest.approx(615.5)
    clock.now += 1000
    assert progress.left_s("build") == 0.0


def test_a_line_a_stage_with_count_and_time(progress: StageProgress, clock: Clock) -> None:
    build, rest = stage_lines(progress, "")
    assert build.split()[:2] == ["build", "1/4"]
    assert "about 18.3 s left; bsr_gemm_mma for sm_90a" in build
    assert rest.startswith("to come: benchmark, judge (in all about 10 min 20 s)")
    progress.see("Finished jobid: 7 (Rule: build)")
    for _ in range(2):
        progress.see("Job 8: build: x for sm_90a")
        clock.now += 20
        progress.see("Finished jobid: 8 (Rule: build)")
    assert next(stage_lines(progress, "")).split() == ["build", "4/4", "40.0", "s"]


def test_clock_and_watts_stand_beside_what_measures(progress: StageProgress) -> None:
    progress.see("Job 9: benchmark: every comparison on h100")
    progress.see("assay:   [2/5] bsr_gemm_128: 6 blocks, 480 samples, 3.1 s")
    lines = list(stage_lines(progress, card_words("1755, 612.40\n")))
    assert "1755 MHz, 612 W" in lines[1]
    assert lines[1].endswith("[2/5] bsr_gemm_128: 6 blocks, 480 samples, 3.1 s")
    assert "MHz" not in lines[0]


def test_what_a_card_does_not_say_is_left_out() -> None:
    assert card_words("[N/A], 70.1") == ""
    assert card_words("") == ""


def test_images_are_told_apart() -> None:
    found = StageProgress({}, cores=1)
    for line in ("toolchain_image   1", "runner_image   1", "Job 1: image: compilers for h100"):
        found.see(line)
    assert [state.begun for state in found.stages.values()] == [1, 0]


def test_lines_that_the_stages_show_are_not_told_again(capsys: pytest.CaptureFixture[str]) -> None:
    class Card:
        says = ""

        def start(self) -> None: ...
        def stop(self) -> None: ...

    found = LiveStages(PlainConsole(highlight=False), StageProgress({}, cores=1), Card())  # type: ignore[arg-type]
    found.tell("assay: build.sm_90a.bsr_gemm_wgmma: 3.9 s")
    found.tell("assay:   [2/5] bsr_gemm_128: 6 blocks")
    found.tell("assay: waiting: another Assay job is measuring on GPU-1")
    assert capsys.readouterr().out == "assay: waiting: another Assay job is measuring on GPU-1\n"


def test_a_stage_takes_what_its_steps_took_on_average() -> None:
    known = {
        (Stage.PROGRAM, frozenset({("target", "h100")})): 10.0,
        (Stage.PROGRAM, frozenset({("target", "h200")})): 20.0,
        (Stage.JUDGE, frozenset()): 5.0,
    }
    assert mean_seconds(known) == {"program": 15.0, "judge": 5.0}
