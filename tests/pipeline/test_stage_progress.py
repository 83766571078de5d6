"""How far a workflow is, read off its lines."""

import pytest

from assay.cli.console import PlainConsole
from assay.cli.live_stages import LiveStages, card_words, stage_lines
from assay.pipeline.durations import STEP_S
from assay.pipeline.stage_progress import TAKEN_OVER, StageProgress, mean_seconds
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
    build, benchmark = progress.left_s("build") or 0, progress.left_s("benchmark") or 0
    assert build == pytest.approx(18.3 * progress.slowness())
    assert benchmark == pytest.approx(602.2 * progress.slowness())
    assert progress.left_s("judge") is None
    assert progress.all_left_s() == pytest.approx(build + benchmark)
    clock.now += 5
    assert progress.left_s("build") == pytest.approx(build - 5)


def test_what_is_late_is_never_about_to_end_at_once(progress: StageProgress, clock: Clock) -> None:
    clock.now += 1000
    assert progress.left_s("build") == pytest.approx(250)


@pytest.mark.parametrize("factor", [0.5, 4.0])
def test_this_runs_own_speed_counts_more_and_more(clock: Clock, factor: float) -> None:
    """A machine that takes 4 times as long: what is left of other stages takes that, too."""
    progress = StageProgress({"build": 10.0, "judge": 100.0}, cores=1, clock=clock)
    for line in ("build 100", "judge 1"):
        progress.see(line)
    left = [progress.left_s("judge") or 0.0]
    for number in range(100):
        progress.see(f"Job {number}: build: x for sm_90a")
        clock.now += factor * (10 + STEP_S)
        progress.see(f"Finished jobid: {number} (Rule: build)")
        left.append(progress.left_s("judge") or 0.0)
    assert left == sorted(left, reverse=factor < 1)
    assert left[0] == pytest.approx(100 + STEP_S)
    assert left[-1] == pytest.approx(factor * (100 + STEP_S), rel=0.05)


def test_without_a_gpu_no_stage_is_one_of_a_gpu(clock: Clock) -> None:
    progress = StageProgress({"judge": 4.0}, cores=1, measures=False, clock=clock)
    for line in ("benchmark 2", "program 1", "judge 1", "Job 1: benchmark: all of it on h200"):
        progress.see(line)
    assert {name: state.total for name, state in progress.stages.items()} == {
        TAKEN_OVER: 3, "judge": 1,
    }  # fmt: skip
    text = "\n".join(stage_lines(progress, "", 80))
    assert "0/3" in text
    assert not any(word in text for word in ("benchmark", "program", "h200"))
    assert progress.left_s(TAKEN_OVER) == pytest.approx(3 * STEP_S)


@pytest.mark.parametrize("width", [60, 80])
def test_lines_fit_and_the_time_is_never_cut(progress: StageProgress, width: int) -> None:
    progress.see("Job 8: build: " + "a_kernel_of_a_long_name " * 9)
    for number, stage in enumerate(("correctness", "operators", "sanitizer", "report", "sign")):
        progress.see(f"{stage} {number + 1}")
    build, *rest = stage_lines(progress, "", width)
    assert all(len(line) <= width for line in (build, *rest))
    assert "about 15 s left" in build
    assert build.endswith(" ...")
    assert rest[0].startswith("about 8 min left in all; to come: ")
    words = {word.strip(",") for line in rest for word in line.split()}
    assert {"correctness", "operators", "sanitizer", "report", "sign"} <= words


def test_a_line_a_stage_with_count_and_time(progress: StageProgress, clock: Clock) -> None:
    build, rest = stage_lines(progress, "", 80)
    assert build.split()[:2] == ["build", "1/4"]
    assert "about 15 s left; bsr_gemm_mma for sm_90a" in build
    assert rest.startswith("about 8 min left in all; to come: benchmark, judge")
    progress.see("Finished jobid: 7 (Rule: build)")
    for _ in range(2):
        progress.see("Job 8: build: x for sm_90a")
        clock.now += 20
        progress.see("Finished jobid: 8 (Rule: build)")
    assert next(stage_lines(progress, "", 80)).split() == ["build", "4/4", "40.0", "s"]


def test_clock_and_watts_stand_beside_what_measures(progress: StageProgress) -> None:
    progress.see("Job 9: benchmark: every comparison on h100")
    progress.see("assay:   [2/5] bsr_gemm_128: 6 blocks, 480 samples, 3.1 s")
    lines = list(stage_lines(progress, card_words("1755, 612.40\n"), 120))
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
