"""GPUs held against each other, phase by phase: what a later start takes up, and what it drops."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.base.io import write_record
from assay.catalog.load import load_catalog
from assay.measuring.card_runs import CardBench, measure_cards
from assay.measuring.device_jobs import correctness_job
from assay.measuring.resume import Measure, Results
from assay.measuring.told import protocol_spec
from assay.records.cards import CardsRecord
from assay.records.measurements import BenchmarkRecord, CorrectnessRecord
from assay.shared.job import BenchmarkJob, CorrectnessJob, DeviceJob
from tests.builders import benchmark, correctness
from tests.library_checkout import REPOSITORY

ONE, TWO = (f"GPU-0000000{number}-1111-2222-3333-444444444444" for number in (1, 2))
PHASES = ["0.alone", "1.beside", "2.alone", "gate"]


@dataclass
class Bench:
    """Two GPUs that write records of their own, and a log of what they were told to do."""

    folder: Path
    jobs: tuple[CorrectnessJob, ...]
    gpus: tuple[str, ...] = (ONE, TWO)
    dies: tuple[str, str] = ("", "")
    """Phase and GPU of the first unit that cannot be measured."""
    counted: list[str] = field(default_factory=list)
    """GPUs of the records that this start is said to have made."""

    def gate_at(self, gpu: str) -> Measure[CorrectnessRecord]:
        """Return what checks on a GPU."""

        def gates(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[CorrectnessRecord]:
            for _, path in zip(jobs, into, strict=True):
                self.noted(path, gpu)
                write_record(correctness(gpu=gpu), path)
            return [correctness(gpu=gpu) for _ in jobs]

        return gates

    def time_at(self, gpu: str) -> Measure[BenchmarkRecord]:
        """Return what times on a GPU."""

        def times(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[BenchmarkRecord]:
            for job, path in zip(jobs, into, strict=True):
                assert isinstance(job, BenchmarkJob)
                self.noted(path, gpu, f" {job.protocol.processes}")
                write_record(benchmark(gpu=gpu), path)
            return [benchmark(gpu=gpu) for _ in jobs]

        return times

    def noted(self, path: Path, gpu: str, more: str = "") -> None:
        """Note a unit, or fail in it."""
        phase = path.name.split(".GPU-")[0]
        if (phase, gpu) == self.dies:
            raise CheckFailed("cut short")
        with (self.folder.parent / "log").open("a") as log:
            log.write(f"{phase} {gpu}{more}\n")

    def measure(self) -> CardsRecord:
        """Hold them against each other."""
        catalog = load_catalog(REPOSITORY)
        protocol = protocol_spec(catalog.protocols["steady"])
        first = self.jobs[0]
        return measure_cards(
            CardBench(
                gates=self.jobs,
                timed=lambda gate: BenchmarkJob(first.target, first.comparison, protocol, (), {}),
                processes=3,
                gates_at={gpu: self.gate_at(gpu) for gpu in self.gpus},
                times_at={gpu: self.time_at(gpu) for gpu in self.gpus},
                folder=self.folder,
                rests_on=("definition",),
                measured=lambda record: self.counted.append(record.gpu_uuid),
            )
        )

    def done(self) -> list[tuple[str, ...]]:
        """Return what was begun, in order but for GPUs of one phase, and forget it."""
        log = self.folder.parent / "log"
        lines = log.read_text().splitlines() if log.is_file() else []
        log.unlink(missing_ok=True)
        return sorted(tuple(line.split()) for line in lines)

    def phases(self) -> list[str]:
        """Return the phases of what was begun, each once."""
        return sorted({phase for phase, *_ in self.done()})


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    job = correctness_job(load_catalog(REPOSITORY), "h200", "cublas_sizes", {})
    return Bench(tmp_path / "kept", (job,))


def test_the_control_alone_twice_as_long_beside_and_alone(bench: Bench) -> None:
    record = bench.measure()
    assert [(run.phase, run.setting, run.benchmark.gpu_uuid) for run in record.runs] == [
        (0, "alone", ONE), (1, "beside", ONE), (1, "beside", TWO), (2, "alone", ONE),
    ]  # fmt: skip
    assert bench.done() == [
        ("0.alone", ONE, "3"), ("1.beside", ONE, "6"), ("1.beside", TWO, "6"),
        ("2.alone", ONE, "3"), ("gate", ONE), ("gate", TWO),
    ]  # fmt: skip


def test_others_are_timed_by_all_with_their_own_processes(bench: Bench) -> None:
    bench.jobs *= 2
    record = bench.measure()
    assert [run.phase for run in record.runs] == [0, 1, 1, 2, 3, 3]
    done = bench.done()
    assert [unit for unit in done if unit[0] == "3.beside"] == [
        ("3.beside", ONE, "5"), ("3.beside", TWO, "5"),
    ]  # fmt: skip


def test_a_later_start_takes_up_finished_phases_and_repeats_one_cut_short(bench: Bench) -> None:
    bench.dies = ("1.beside", TWO)
    with pytest.raises(CheckFailed, match=f"{TWO}: cut short"):
        bench.measure()
    assert list(bench.folder.glob(f"1.beside.{ONE}*")), "one GPU had finished its half"
    bench.done()
    assert bench.counted == [ONE, TWO, ONE], "of the phase that was cut short nothing counts"
    bench.dies, bench.counted = ("", ""), []
    record = bench.measure()
    assert bench.counted == [ONE, TWO, ONE]
    assert bench.done() == [
        ("1.beside", ONE, "6"), ("1.beside", TWO, "6"), ("2.alone", ONE, "3"),
    ]  # fmt: skip
    assert len(record.runs) == 4
    assert bench.measure().runs == record.runs
    assert bench.done() == []


def test_a_half_written_record_is_dropped_with_its_phase(bench: Bench) -> None:
    bench.measure()
    bench.done()
    (path,) = bench.folder.glob("2.alone.*")
    path.write_bytes(path.read_bytes()[:100])
    bench.measure()
    assert bench.phases() == ["2.alone"]
    (path,) = bench.folder.glob(f"1.beside.{TWO}.*")
    path.write_bytes(b"")
    bench.measure()
    assert bench.phases() == ["1.beside"]


def test_on_other_gpus_nothing_is_taken_up(bench: Bench) -> None:
    bench.measure()
    bench.done()
    bench.gpus = (TWO, ONE)
    assert bench.measure().gpu_uuid == TWO
    assert bench.phases() == PHASES
    assert len(list(bench.folder.iterdir())) == 6, "what nothing rests on is removed"


def test_one_gpu_is_held_against_none(bench: Bench) -> None:
    bench.gpus = (ONE,)
    with pytest.raises(CheckFailed, match="fewer than two GPUs"):
        bench.measure()
