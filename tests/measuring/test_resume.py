"""Batches: what was finished is kept, what failed is named, what changed is measured again.

Beside the figures troubles cost a run no verdict: a crash, a hang, a missing tool end in a record.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import read_record, write_record
from assay.measuring.device_process import NoMemory
from assay.measuring.resume import Beside, Item, Measure, Results, forget_others, measured_batch
from assay.records.base import Record
from assay.shared.job import BenchmarkJob, CorrectnessJob, DeviceJob
from assay.shared.specs import ArmSpec, ArtifactSpec
from tests.jobs import KERNEL, QUICK, SPARSE, benchmark


class Measured(Record):
    """A measurement of one name in the how-manieth batch, or the sentence on its failure."""

    name: str
    count: int = 0
    failed: str = ""


class Bench:
    """Measures by counting; ``bad`` names fail, ``until`` ends the batch as a lost GPU would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[list[str]] = []
        self.bad: set[str] = set()
        self.until: str | None = None
        self.refused: set[str] = set()
        self.how: Measure[Measured] = self.measure
        self.beside: Beside[Measured] | None = None

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

    def records(self, names: str = "abc", rests_on: str = "x") -> list[Measured]:
        """Measure a batch, put its records in place and forget the others, as a step does."""
        kept, out = self.folder / "kept", self.folder / "out"
        items = [
            Item(name, benchmark(name=name), out / f"{name}.json", (rests_on,), kept)
            for name in names
        ]
        done = measured_batch(items, Measured, self.how, self.accept, self.beside)
        for item in items:
            write_record(done[item.name], item.path)
        forget_others(items, kept)
        return [read_record(Measured, item.path) for item in items]

    def run(self, names: str = "abc", rests_on: str = "x") -> dict[str, int]:
        return {record.name: record.count for record in self.records(names, rests_on)}

    def sentences(self, how, patience_s=60.0, *, measured=True):
        """Measure beside the figures by ``how``; what became of each."""

        def failed(job: DeviceJob, sentence: str) -> Measured:
            return Measured(name=job.comparison.id, failed=sentence)

        self.how, self.beside = how, Beside(failed, measured, patience_s)
        return [record.failed for record in self.records()]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


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


def test_of_a_batch_that_hangs_what_was_finished_stays(bench: Bench) -> None:
    def hangs(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[Measured]:
        write_record(Measured(name="a"), into[0])
        into[1].write_text('{"name": "cut of')
        time.sleep(30)
        return []

    assert bench.sentences(hangs, 0.2) == ["", "stopped after 0 s", "stopped after 0 s"]


def test_each_of_a_batch_fails_by_itself(bench: Bench) -> None:
    bench.refused, bench.bad = {"c"}, {"b"}
    assert bench.sentences(bench.measure) == ["", "b is bad", "ran on another GPU"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (CheckFailed("ended with code -11"), "ended with code -11"),
        (KeyError("arm"), "KeyError: 'arm'"),
        (NoMemory("needed more memory"), "needed more memory"),
    ],
)
def test_a_crash_is_records_that_say_so(bench: Bench, error: Exception, words: str) -> None:
    assert bench.sentences(Mock(side_effect=error), measured=False) == [words] * 3


def test_a_lost_gpu_stops_a_run_only_while_its_figures_are_still_to_be_measured(bench):
    lost = Mock(side_effect=MissingEnvironment("the GPU is in use"))
    with pytest.raises(MissingEnvironment):
        bench.sentences(lost, measured=False)
    assert bench.sentences(lost) == ["the GPU is in use"] * 3
