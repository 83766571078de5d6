"""Batches: what was finished is kept, what failed is named, what changed is measured again.

Beside the figures troubles cost a run no verdict: a crash, a hang, a missing tool end in a record.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import read_record, write_record
from assay.measuring.device_process import NoMemory
from assay.measuring.resume import Beside, Item, Results, forget_others, measured_batch
from assay.records.base import Record
from assay.shared.job import BenchmarkJob, ComparisonJob, CorrectnessJob, DeviceJob
from assay.shared.specs import ArmSpec, ArtifactSpec
from tests.jobs import KERNEL, QUICK, SPARSE, benchmark


class Measured(Record):
    """A measurement of one name, the how-manieth."""

    name: str
    count: int


def finish(items: Sequence[Item], record: Any, folder: Path, *how: Any) -> None:
    """Measure a batch, put its records in their places and forget the others, as a step does."""
    done = measured_batch(items, record, *how)
    for item in items:
        write_record(done[item.name], item.path)
    forget_others(items, folder)


class Bench:
    """Measures by counting; ``bad`` names fail, ``until`` ends the batch as a lost GPU would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[list[str]] = []
        self.bad: set[str] = set()
        self.until: str | None = None
        self.refused: set[str] = set()

    def measure(self, jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[Measured]:
        names = [job.comparison.id for job in jobs if isinstance(job, BenchmarkJob)]
        self.asked.append(names)
        results: list[Measured | CheckFailed] = []
        for name, path in zip(names, into, strict=True):
            if name == self.until:
                raise MissingEnvironment("the GPU is in use")
            if name in self.bad:
                results.append(CheckFailed(f"{name} is bad"))
                continue
            record = Measured(name=name, count=len(self.asked))
            write_record(record, path)
            results.append(record)
        return results

    def accept(self, record: Measured, new: bool) -> None:
        if record.name in self.refused:
            raise CheckFailed("ran on another GPU")

    def run(self, names: str = "abc", rests_on: str = "x") -> dict[str, int]:
        """Measure; name to the count of the batch in which it was measured."""
        kept, out = self.folder / "kept", self.folder / "out"
        items = [
            Item(name, benchmark(name=name), out / f"{name}.json", (rests_on,), kept)
            for name in names
        ]
        finish(items, Measured, kept, self.measure, self.accept)
        return {item.name: read_record(Measured, item.path).count for item in items}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_failure_is_named_and_the_others_are_not_measured_again(bench: Bench):
    bench.bad = {"b"}
    with pytest.raises(CheckFailed) as caught:
        bench.run()
    assert str(caught.value) == (
        "1 of 3 failed (the other 2 are kept and are not measured again): b: b is bad"
    )
    assert not (bench.folder / "out").exists()
    bench.bad = set()
    assert bench.run() == {"a": 1, "b": 2, "c": 1}
    assert bench.asked == [["a", "b", "c"], ["b"]]


def test_an_interrupted_batch_goes_on_where_it_was(bench: Bench):
    bench.until = "c"
    with pytest.raises(MissingEnvironment):
        bench.run()
    bench.until = None
    assert bench.run() == {"a": 1, "b": 1, "c": 2}


def test_what_rests_on_something_else_is_measured_again(bench: Bench):
    bench.run()
    assert bench.run(rests_on="y") == {"a": 2, "b": 2, "c": 2}
    assert len(list((bench.folder / "kept").iterdir())) == 3


def test_a_record_that_must_not_be_used_fails_and_is_not_kept(bench: Bench):
    bench.refused = {"a"}
    with pytest.raises(CheckFailed, match="a: ran on another GPU"):
        bench.run()
    bench.refused = set()
    assert bench.run() == {"a": 2, "b": 1, "c": 1}


def test_a_kept_file_that_is_damaged_is_measured_again(bench: Bench):
    bench.run("a")
    kept = next((bench.folder / "kept").iterdir())
    kept.write_bytes(kept.read_bytes()[:-7])
    assert bench.run("a") == {"a": 2}


def test_every_word_of_a_job_counts(tmp_path: Path):
    """A change of any field is another measurement; the place of its output is none."""
    first = benchmark(name="a")
    others = [
        benchmark(name="b"),
        benchmark(name="a", timed=("ours",)),
        replace(first, protocol=replace(QUICK, settle_ms=1.0)),
        CorrectnessJob(first.target, first.comparison, ()),
    ]
    jobs = (first, *others)
    kept = [Item("a", job, tmp_path / "x", ("d",), tmp_path).kept for job in jobs]
    assert len(set(kept)) == len(kept)
    again = Item("a", benchmark(name="a"), tmp_path / "elsewhere", ("d",), tmp_path)
    assert again.kept == kept[0]


def test_a_run_goes_on_where_its_folder_was_brought(tmp_path: Path):
    """The binaries of a run lie in its folder; the same ones elsewhere are the same measurement."""
    names = set()
    for run in (tmp_path / "here", tmp_path / "there"):
        binary = ArtifactSpec(str(run / "builds" / "a.so"), "0" * 64)
        job = benchmark(ArmSpec("ours", KERNEL, SPARSE, binary))
        item = Item("a", job, tmp_path / "x", ("d",), run / "kept" / "benchmark" / "t")
        names.add(item.kept.name)
    assert len(names) == 1


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

    kept = folder / "kept"
    items = [Item(name, benchmark(name=name), folder / f"{name}.json", (), kept) for name in "abc"]
    beside = Beside(failed, measured, patience_s)
    finish(items, Found, kept, measure, accept, beside)
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
