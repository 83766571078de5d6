"""Data frames of records: columns, dtypes, units, and what stands in each row."""

import pandas as pd
import pytest

from assay import frames
from assay.records.measurements import BenchmarkRecord, Block, Process, Telemetry, Turn
from assay.records.verdicts import Status, Verdict, VerdictsFile
from tests import builders as b

MADE = {
    "turns": (frames.turns, frames.TURNS),
    "samples": (frames.samples, frames.SAMPLES),
    "telemetry": (frames.telemetry, frames.TELEMETRY),
    "builds": (frames.builds, frames.BUILDS),
}


def turn(arm: str, *times_ms: float, clock_mhz: float | None = 1500.0) -> Turn:
    return Turn(
        arm=arm,
        times_ms=times_ms,
        started_s=1.0,
        ended_s=1.5,
        checked=False,
        relative_error=None,
        clock_mhz=clock_mhz,
    )


@pytest.fixture
def record() -> BenchmarkRecord:
    """One process: a block of two turns, a discarded block whose clock nobody knows."""
    blocks = (
        Block(turns=(turn("ours", 0.5, 0.25), turn("control", 2.0)), void=None),
        Block(turns=(turn("ours", 4.0, clock_mhz=None),), void="thermal slowdown"),
    )
    sampled = Telemetry(
        at_s=(0.0, 0.5),
        clock_sm_mhz=(1500, 1400),
        clock_memory_mhz=(2600, 2600),
        power_w=(300.0, 650.5),
        temperature_c=(40, 41),
        event_reasons=(0, 4),
    )
    process = Process(
        index=3, arms=(), blocks=blocks, telemetry=sampled, seconds=2.0, gpu_seconds=1.0
    )
    return b.benchmark().model_copy(update={"processes": (process,)})


def test_a_turn_is_a_row(record: BenchmarkRecord) -> None:
    frame = frames.turns([record])
    assert frame.target.tolist() == ["h100"] * 3
    assert frame.comparison.tolist() == ["duel"] * 3
    assert frame.process.tolist() == [3, 3, 3]
    assert frame.block.tolist() == [0, 0, 1]
    assert frame.turn.tolist() == [0, 1, 0]
    assert frame.arm.tolist() == ["ours", "control", "ours"]
    assert frame.discarded.tolist() == [False, False, True]
    assert frame.clock_mhz.tolist()[:2] == [1500.0, 1500.0]
    assert frame.clock_mhz.isna().tolist() == [False, False, True]
    assert (frame.started_s.iloc[0], frame.ended_s.iloc[0]) == (1.0, 1.5)
    assert frame.launches.tolist() == [2, 1, 1]


def test_a_launch_is_a_row_with_its_turns_columns(record: BenchmarkRecord) -> None:
    frame = frames.samples([record, record])
    assert len(frame) == 8
    first = frame.iloc[:4]
    assert first.time_ms.tolist() == [0.5, 0.25, 2.0, 4.0]
    assert first.launch.tolist() == [0, 1, 0, 0]
    assert first.arm.tolist() == ["ours", "ours", "control", "ours"]
    assert first.discarded.tolist() == [False, False, False, True]
    # Half a millisecond at 1500 MHz are 750 000 cycles.
    assert first.cycles.tolist()[:3] == [750_000.0, 375_000.0, 3_000_000.0]
    assert first.cycles.isna().tolist() == [False, False, False, True]


def test_a_sample_of_the_telemetry_is_a_row(record: BenchmarkRecord) -> None:
    last = frames.telemetry([record]).iloc[-1]
    assert last.to_dict() == {
        "target": "h100",
        "comparison": "duel",
        "process": 3,
        "at_s": 0.5,
        "clock_sm_mhz": 1400,
        "clock_memory_mhz": 2600,
        "power_w": 650.5,
        "temperature_c": 41,
        "event_reasons": 4,
    }


def verdict(claim: str, **values: object) -> Verdict:
    empty: dict[str, object] = dict.fromkeys(Verdict.model_fields)
    given = {
        "claim": claim,
        "source": "paper",
        "explanation": "",
        "relation": "equals",
        "nearest": (),
        "evidence": (),
        **values,
    }
    return Verdict.model_validate({**empty, "same_measurement": (), **given})


def test_a_verdict_is_a_row_and_words_are_no_figures() -> None:
    file = VerdictsFile(
        schema="assay/verdicts/1",
        run="demo",
        verdicts=(
            verdict(
                "fast",
                status=Status.REPRODUCED,
                target="h100",
                unit="tflop_per_s",
                claimed=600.0,
                measured=610.0,
                ci90=(600.0, 620.0),
                margin=0.05,
            ),
            verdict("flag", status=Status.NOT_RUN, reason="no_device", claimed="supported"),
        ),
    )
    first, second = (row for _, row in frames.verdicts(file).iterrows())
    assert (first.claim, first.source, first.target, first.status) == (
        "fast", "paper", "h100", "reproduced",
    )  # fmt: skip
    assert (first.claimed, first.measured, first.low, first.high) == (600.0, 610.0, 600.0, 620.0)
    assert (first.unit, first.margin) == ("tflop_per_s", 0.05)
    assert (second.status, second.reason) == ("not_run", "no_device")
    assert second[["target", "claimed", "measured", "low", "high", "margin"]].isna().all()
    TestEveryFrame.check(frames.verdicts(file), frames.VERDICTS)


def test_a_build_is_a_row() -> None:
    frame = frames.builds([b.build("our_kernel", content="ours")])
    (row,) = (row for _, row in frame.iterrows())
    assert (row.id, row.status) == ("our_kernel", "built")
    assert row.binary_sha256 == b.digest("ours")
    assert row.binary_bytes == 1000


@pytest.mark.parametrize("name", MADE)
class TestEveryFrame:
    def test_has_its_columns_and_dtypes_with_rows(self, name: str, record: BenchmarkRecord) -> None:
        make, columns = MADE[name]
        self.check(
            make([b.build("our_kernel", content="ours")] if name == "builds" else [record]), columns
        )

    def test_has_them_without_rows(self, name: str) -> None:
        make, columns = MADE[name]
        frame = make([])
        assert frame.empty
        self.check(frame, columns)

    @staticmethod
    def check(frame: pd.DataFrame, columns: tuple[frames.Column, ...]) -> None:
        assert list(frame.columns) == [column.name for column in columns]
        for column in columns:
            assert frame[column.name].dtype == column.dtype, column
            assert column.says
