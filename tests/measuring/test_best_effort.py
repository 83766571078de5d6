"""Troubles that cost a run no verdict: a crash, a hang, a missing tool end in a record."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import read_record, write_record
from assay.measuring.device_process import NoMemory
from assay.measuring.resume import Beside, Item, Results, measure_batch
from assay.records.base import Record
from assay.shared.job import ComparisonJob, DeviceJob
from tests.jobs import benchmark


class Found(Record):
    """A record of its own words."""

    words: str


def _name(job: DeviceJob) -> str:
    assert isinstance(job, ComparisonJob)
    return job.comparison.id


def _batch(
    folder: Path, measure: Any, patience_s: float = 60.0, *, measured: bool = True
) -> list[str]:
    def accept(found: Found, new: bool) -> None:
        if found.words == "elsewhere":
            raise CheckFailed("ran on another GPU")

    def failed(job: DeviceJob, sentence: str) -> Found:
        return Found(words=f"{_name(job)} failed: {sentence}")

    items = [Item(name, benchmark(name=name), folder / f"{name}.json", ()) for name in "abc"]
    beside = Beside(failed, measured, patience_s)
    measure_batch(items, Found, folder / "kept", measure, accept, beside)
    return [read_record(Found, item.path).words for item in items]


def test_of_a_batch_that_hangs_what_was_finished_stays(tmp_path: Path) -> None:
    def measure(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[Found]:
        write_record(Found(words="fine"), into[0])
        into[1].write_text('{"words": "cut of')
        time.sleep(30)
        return []

    words = _batch(tmp_path, measure, 0.2)
    assert words[0] == "fine"
    assert words[1].startswith("b failed: stopped after")
    assert words[2].startswith("c failed: stopped after")


def test_each_of_a_batch_fails_by_itself(tmp_path: Path) -> None:
    def measure(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[Found]:
        return [Found(words="fine"), CheckFailed("died of SIGSEGV"), Found(words="elsewhere")]

    assert _batch(tmp_path, measure) == [
        "fine",
        "b failed: died of SIGSEGV",
        "c failed: ran on another GPU",
    ]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (CheckFailed("ended with code -11"), "ended with code -11"),
        (KeyError("arm"), "KeyError: 'arm'"),
        (NoMemory("needed more memory"), "needed more memory"),
    ],
)
def test_a_crash_is_records_that_say_so(tmp_path: Path, error: Exception, words: str) -> None:
    found = _batch(tmp_path, Mock(side_effect=error), measured=False)
    assert found == [f"{name} failed: {words}" for name in "abc"]


def test_a_lost_gpu_stops_a_run_only_while_its_figures_are_still_to_be_measured(
    tmp_path: Path,
) -> None:
    lost = Mock(side_effect=MissingEnvironment("the GPU is in use"))
    with pytest.raises(MissingEnvironment):
        _batch(tmp_path, lost, measured=False)
    assert _batch(tmp_path, lost)[0] == "a failed: the GPU is in use"
