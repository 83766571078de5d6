"""Data frames of records: columns, dtypes, units, and what stands in each row."""

import pandas as pd
import pytest

from assay import frames
from assay.records.measurements import BenchmarkRecord, Block, Process, Telemetry, Turn
from tests import builders as b


def turn(arm: str, *times_ms: float, clock_mhz: float | None = 1500.0) -> Turn:
    return Turn(
        arm=arm, times_ms=times_ms, started_s=1.0, ended_s=1.5, checked=False, relative_error=None,
        clock_mhz=clock_mhz,
    )  # fmt: skip


@pytest.fixture
def record() -> BenchmarkRecord:
    """One process: a block of two turns, a discarded block whose clock nobody knows."""
    blocks = (
        Block(turns=(turn("ours", 0.5, 0.25), turn("control", 2.0)), void=None),
        Block(turns=(turn("ours", 4.0, clock_mhz=None),), void="thermal slowdown"),
    )
    sampled = Telemetry(
        at_s=(0.0, 0.5), clock_sm_mhz=(1500, 1400), clock_memory_mhz=(2600, 2600),
        power_w=(300.0, 650.5), temperature_c=(40, 41), event_reasons=(0, 4),
    )  # fmt: skip
    process = Process(index=3, arms=(), blocks=blocks, telemetry=sampled, seconds=2.0)
    return b.benchmark().model_copy(update={"processes": (process,)})


def test_a_launch_is_a_row(record: BenchmarkRecord) -> None:
    frame = frames.samples([record])
    assert frame.time_ms.tolist() == [0.5, 0.25, 2.0, 4.0]
    assert frame.launch.tolist() == [0, 1, 0, 0]
    assert frame.turn.tolist() == [0, 0, 1, 0]
    assert frame.discarded.tolist() == [False, False, False, True]
    check(frame, frames.SAMPLES)


def test_a_sample_of_nvml_is_a_row_and_what_it_refused_is_nan(record: BenchmarkRecord) -> None:
    sampled = record.processes[0].telemetry.model_copy(update={"power_w": ()})
    process = record.processes[0].model_copy(update={"telemetry": sampled})
    frame = frames.telemetry([record.model_copy(update={"processes": (process,)})], {})
    assert frame.clock_sm_mhz.tolist() == [1500.0, 1400.0]
    assert frame.power_w.isna().all()
    assert frame.event_reasons.tolist() == [0, 4]
    assert frame.process.tolist() == [3, 3]


GIVEN = [
    column.name
    for column in frames.LEADERBOARD
    if column.name != "rank" and not column.name.startswith("score")
]


def test_right_solutions_of_a_problem_are_ranked_by_their_times() -> None:
    given = (("add", "h100", 2.0), ("add", "h100", 1.0), ("add", "h100", None), ("add", "l4", 3.0))
    rows = [
        {**dict.fromkeys(GIVEN), "problem": problem, "target": target, "solution_ms": ms}
        for problem, target, ms in given
    ]
    assert frames.leaderboard(rows)["rank"].fillna(0).tolist() == [2, 1, 0, 1]


def test_a_submissions_score_is_the_geometric_mean_over_its_benchmarks() -> None:
    given = (("a", 1.0), ("a", 4.0), ("b", 1.0), ("b", None), (None, 3.0))
    rows = [
        {**dict.fromkeys(GIVEN), "target": "h100", "submission": file, "solution_ms": ms,
         "solution_low_ms": ms and ms / 1.03, "solution_high_ms": ms and ms * 1.04}
        for file, ms in given
    ]  # fmt: skip
    frame = frames.leaderboard(rows)[["score_ms", "score_low_ms", "score_high_ms"]].fillna(0)
    assert frame.score_ms.tolist() == pytest.approx([2, 2, 0, 0, 0])
    # Two benchmarks that scatter alike leave a half of 1/sqrt(2) of one's.
    assert frame.score_low_ms.tolist() == pytest.approx([2 / 1.03**0.5**0.5] * 2 + [0, 0, 0])
    assert frame.score_high_ms.tolist() == pytest.approx([2 * 1.04**0.5**0.5] * 2 + [0, 0, 0])


@pytest.mark.parametrize(
    ("frame", "columns"),
    [
        (frames.samples([]), frames.SAMPLES),
        (frames.telemetry([], {}), frames.TELEMETRY),
        (frames.verdicts([]), frames.VERDICTS),
        (frames.leaderboard([]), frames.LEADERBOARD),
        (frames.builds([]), frames.BUILDS),
    ],
)
def test_an_empty_frame_has_its_columns(frame, columns):
    assert frame.empty
    check(frame, columns)


def check(frame: pd.DataFrame, columns: tuple[frames.Column, ...]) -> None:
    assert list(frame.columns) == [column.name for column in columns]
    for column in columns:
        assert frame[column.name].dtype == column.dtype, column
        assert column.says
