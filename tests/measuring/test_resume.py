"""Batches: what was finished is kept, what failed is named, what changed is measured again."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import read_record, write_record
from assay.measuring.resume import Item, Results, measure_batch
from assay.records.base import Record
from assay.shared.job import BenchmarkJob, CorrectnessJob, DeviceJob
from assay.shared.specs import ArmSpec, ArtifactSpec
from tests.jobs import KERNEL, QUICK, SPARSE, benchmark


class Measured(Record):
    """A measurement of one name, the how-manieth."""

    name: str
    count: int


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
        items = [
            Item(name, benchmark(name=name), self.folder / "out" / f"{name}.json", (rests_on,))
            for name in names
        ]
        measure_batch(items, Measured, self.folder / "kept", self.measure, self.accept)
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
    kept = [Item("a", job, tmp_path / "x", ("d",)).kept(tmp_path) for job in (first, *others)]
    assert len(set(kept)) == len(kept)
    again = Item("a", benchmark(name="a"), tmp_path / "elsewhere", ("d",)).kept(tmp_path)
    assert again == kept[0]


def test_a_run_goes_on_where_its_folder_was_brought(tmp_path: Path):
    """The binaries of a run lie in its folder; the same ones elsewhere are the same measurement."""
    names = set()
    for run in (tmp_path / "here", tmp_path / "there"):
        binary = ArtifactSpec(str(run / "builds" / "a.so"), "0" * 64)
        job = benchmark(ArmSpec("ours", KERNEL, SPARSE, binary))
        kept = Item("a", job, tmp_path / "x", ("d",)).kept(run / "kept" / "benchmark" / "t")
        names.add(kept.name)
    assert len(names) == 1
