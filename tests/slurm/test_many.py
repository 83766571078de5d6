"""Many jobs, of which one in ten ends by no fault of its own: none is lost, none counts twice."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.pipeline.slurm_jobs import cancel_orphans, job_name, jobs_of, journal_of, told_retried
from assay.records.measurements import BenchmarkRecord
from assay.records.platform import PlatformRecord
from assay.records.timings import StepTiming
from assay.verification.verify import verify
from tests.library_checkout import REPOSITORY
from tests.report_fixtures import gpu_uuid
from tests.slurm.cluster import NODES, PARTITION, Cluster
from tests.slurm.measured import BegunRun, MeasuredRun, waited

pytestmark = pytest.mark.slurm

STEPS = 200
ODDS = 0.1
ROUNDS = 8
"""In so many tries every one of the steps ends well, but for one chance in 500,000."""


class Queue:
    """Steps of a run, submitted without Snakemake."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.numbers = [f"n{number}" for number in range(STEPS)]
        run_dir.mkdir(parents=True)

    def submit(self) -> None:
        """Submit every step that has no record."""
        for number in self.left():
            step = f"{sys.executable} -m tests.slurm.stub_step {self.run_dir} {number} {ODDS}"
            submitted = subprocess.run(
                [
                    "sbatch", "--parsable", f"--partition={PARTITION}", "--output=/dev/null",
                    "--nice",
                    f"--job-name={job_name(self.run_dir)}_{number}", f"--chdir={REPOSITORY}",
                    f"--export=ALL,PYTHONPATH={REPOSITORY / 'src'}:{REPOSITORY}", f"--wrap={step}",
                ],
                capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
            assert submitted.returncode == 0, submitted.stderr

    def left(self) -> list[str]:
        """Steps without a record."""
        done = {path.stem for path in (self.run_dir / "done").glob("n*.json")}
        return [number for number in self.numbers if number not in done]

    def is_over(self) -> bool:
        """Whether no job of the run is in the queue."""
        return jobs_of(self.run_dir) == []


def test_of_200_jobs_nothing_is_lost_and_nothing_counts_twice(
    cluster: Cluster, many_run: BegunRun, tmp_path: Path
) -> None:
    queue = Queue(tmp_path / "results" / "many")
    queue.submit()
    # The submitter is killed when a third is done; its next start finds what that one left.
    assert waited(lambda: len(queue.left()) <= STEPS * 2 // 3), cluster.logs()
    cancel_orphans(queue.run_dir)
    assert queue.is_over()
    left = queue.left()
    assert left, "it was killed on the way"
    for _ in range(ROUNDS):
        queue.submit()
        assert waited(queue.is_over), cluster.logs()
        if not queue.left():
            break
    assert queue.left() == []

    journal = journal_of(queue.run_dir)
    done = {job.target: job.job_id for job in journal if job.outcome == "done"}
    records = {
        number: read_record(StepTiming, queue.run_dir / "done" / f"{number}.json").arguments
        for number in queue.numbers
    }
    assert records == {n: {"number": n, "job": done[n]} for n in queue.numbers}
    starts = Counter(job.outcome for job in journal)
    assert starts["done"] == STEPS
    assert starts["lost"] == len(journal) - STEPS >= STEPS * ODDS / 4, "many ended on the way"
    assert len(told_retried(journal)) == starts["lost"]


@pytest.fixture(scope="module")
def measured(cluster: Cluster, many_run: BegunRun) -> MeasuredRun:
    """The run of three targets, at its end."""
    assert many_run.command.wait(500) == 0, many_run.run.said() + cluster.logs()
    return many_run.run


class TestTwentyJobs:
    """Through Snakemake."""

    def test_there_were_as_many(self, measured: MeasuredRun) -> None:
        done = Counter((job.stage, job.target) for job in measured.journal() if job.gpu is not None)
        assert len(done) >= 18
        assert len(measured.journal()) >= 20

    def test_each_step_ended_well_once(self, measured: MeasuredRun) -> None:
        done = Counter(
            (job.stage, job.target) for job in measured.journal() if job.outcome == "done"
        )
        assert set(done.values()) == {1}

    def test_what_was_lost_is_told_with_its_cause(self, measured: MeasuredRun) -> None:
        lost = [job for job in measured.journal() if job.outcome == "lost"]
        ended = (measured.place.folder / "ended").read_text().splitlines()
        assert len(lost) == len(ended) + 1
        reasons = {job.job_id: job.reason for job in lost}
        assert "it reached its time limit" in reasons.values()
        for line in ended:
            way, _, number = line.partition(" ")
            assert reasons[number] == f"it was {way}"

    def test_every_job_was_on_the_node_of_its_target(self, measured: MeasuredRun) -> None:
        assert {(job.target, job.node) for job in measured.journal()} == {(n, n) for n in NODES}

    def test_no_device_measured_twice(self, measured: MeasuredRun) -> None:
        for target in NODES:
            starts = Counter(measured.place.starts(target))
            assert starts["benchmark duel"] == 1

    def test_what_began_on_one_card_went_on_on_the_other(self, measured: MeasuredRun) -> None:
        first, second = gpu_uuid("h200.1"), gpu_uuid("h200")
        folder = measured.folder / "h200"
        platform = read_record(PlatformRecord, folder / "platform.json")
        assert [device.gpu.uuid for device in platform.devices] == [first, second]
        timed = read_record(BenchmarkRecord, folder / "benchmark" / "duel.json.gz")
        assert timed.gpu_uuid == second
        done = [job for job in measured.journal() if (job.target, job.outcome) == ("h200", "done")]
        assert {job.stage: job.gpu and job.gpu.uuid for job in done}["platform"] == first
        assert done[-1].gpu is not None
        assert done[-1].gpu.uuid == second

    def test_the_report_verifies(self, measured: MeasuredRun) -> None:
        report = measured.place.root / "reports" / measured.name
        key = measured.place.folder / "key.pub"
        assert verify(report, [key], repository=measured.place.root).passed
