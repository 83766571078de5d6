"""A node with two cards: runs that are on it at one time each prove and record their own.

Steps are submitted without Snakemake, which takes longer to start than any of them. With it, a run
has its jobs on that node one after the other: ``test_many``.
"""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.measuring.slurm_partitions import gpus_of_node
from assay.pipeline.plan import make_plan
from assay.pipeline.run_files import bound_run
from assay.pipeline.slurm_jobs import journal_of
from assay.records.cluster import NO_CLUSTER
from assay.records.measurements import BenchmarkRecord
from assay.records.platform import PlatformRecord
from assay.records.slurm_jobs import SlurmJob
from tests.report_fixtures import gpu_uuid, make_request, provision
from tests.slurm.cluster import CARDS, PARTITION, TYPES, Cluster, slurm
from tests.slurm.measured import MeasuredCheckout, waited

pytestmark = pytest.mark.slurm

NODE = "h200"
UUIDS = (gpu_uuid(NODE), gpu_uuid(f"{NODE}.1"))
RUNS = ("first", "second")
STAGES = ("platform", "correctness", "benchmark")
STEP = (
    "import sys; sys.path.insert(0, 'src'); from assay.pipeline.steps import run_step; "
    "from pathlib import Path; "
    "run_step(Path.cwd(), {stage!r}, {{'target': 'h200'}}, run_dir='results/{run}', "
    "log='results/{run}/logs/{stage}.log')"
)


class Box:
    """Two runs of one checkout, whose steps are jobs of the node."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.place = cluster, MeasuredCheckout(folder, [NODE], ["duel"])
        self.slow, self.waiting, self.go = (
            folder / NODE / name for name in ("slow", "waiting", "go")
        )
        catalog = load_catalog(self.place.root)
        for run in RUNS:
            request = make_request(run, [provision(NODE)], ["fixture"]).model_copy(
                update={
                    "executor": "slurm", "cluster": NO_CLUSTER,
                    "device_python": str(folder / "python"),
                }
            )  # fmt: skip
            with bound_run(
                self.place.root, catalog, request, make_plan(catalog, request), scratch=False
            ):
                pass

    def results(self, run: str) -> Path:
        return self.place.root / "results" / run

    def submit(self, run: str, stage: str, gpus: int = 1) -> str:
        """Submit a step to the node; returns the number of its job."""
        program = f"{sys.executable} -c {shlex.quote(STEP.format(run=run, stage=stage))}"
        submitted = subprocess.run(
            [
                "sbatch", "--parsable", f"--partition={PARTITION}",
                f"--gpus={NODE}:{gpus}", f"--output={self.place.folder / 'said'}",
                "--open-mode=append",
                f"--wrap=PATH={self.place.folder / 'bin'}:$PATH {program}",
            ],
            cwd=self.place.root, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert submitted.returncode == 0, submitted.stderr
        return submitted.stdout.strip()

    def ended(self, run: str, number: str) -> SlurmJob:
        """Return what the journal says of a job, once its card is free again."""

        def gone() -> bool:
            return slurm("squeue", "--noheader", f"--jobs={number}", "--format=%T") == ""

        assert waited(gone, 120), self.cluster.logs()
        (entry,) = (job for job in journal_of(self.results(run)) if job.job_id == number)
        assert entry.ended_at is not None, (self.place.folder / "said").read_text()
        return entry

    def at_once(self, stage: str, task: str) -> list[SlurmJob]:
        """Do a step of both runs: the first holds its card until the second is done."""
        self.waiting.unlink(missing_ok=True)
        self.go.unlink(missing_ok=True)
        self.slow.write_text(task)
        first = self.submit("first", stage)
        assert waited(self.waiting.exists), self.cluster.logs()
        second = self.ended("second", self.submit("second", stage))
        self.go.touch()
        return [self.ended("first", first), second]


@pytest.fixture(scope="module")
def box(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Box:
    return Box(cluster, tmp_path_factory.mktemp("box"))


@pytest.fixture(scope="module")
def jobs(box: Box) -> Iterator[dict[str, list[SlurmJob]]]:
    """The jobs of both runs, by stage."""
    tasks = zip(STAGES, ("device.", "correctness.duel", "benchmark.duel"), strict=True)
    try:
        yield {stage: box.at_once(stage, task) for stage, task in tasks}
    finally:
        box.go.touch()


class TestTwoRuns:
    """On one node at the same time."""

    @pytest.mark.parametrize("stage", STAGES)
    def test_each_job_proves_the_card_that_it_was_granted(
        self, jobs: dict[str, list[SlurmJob]], stage: str
    ) -> None:
        for index, job in enumerate(jobs[stage]):
            assert (job.outcome, job.node, job.gpu_count) == ("done", NODE, 1)
            assert job.gpu is not None
            assert (job.gpu.index, job.gpu.uuid) == (index, UUIDS[index])

    def test_they_did_overlap(self, jobs: dict[str, list[SlurmJob]]) -> None:
        for first, second in jobs.values():
            assert first.ended_at is not None
            assert second.ended_at is not None
            assert first.began_at <= second.began_at <= second.ended_at <= first.ended_at

    def test_records_name_the_card_that_they_are_of(
        self, box: Box, jobs: dict[str, list[SlurmJob]]
    ) -> None:
        for uuid, run in zip(UUIDS, RUNS, strict=True):
            folder = box.results(run) / NODE
            platform = read_record(PlatformRecord, folder / "platform.json")
            timed = read_record(BenchmarkRecord, folder / "benchmark" / "duel.json.gz")
            assert (platform.device.gpu.uuid, timed.gpu_uuid) == (uuid, uuid)

    def test_slurm_tells_how_many_cards_a_node_has(self, cluster: Cluster) -> None:
        assert {node: gpus_of_node(node, of) for node, of in TYPES.items()} == CARDS
        assert gpus_of_node(NODE, "l4") == 0


@pytest.fixture(scope="module")
def entry(box: Box, jobs: dict[str, list[SlurmJob]]) -> SlurmJob:
    """The second run's benchmark, submitted again."""
    assert len(jobs) == len(STAGES)
    before = box.place.starts(NODE)
    entry = box.ended("second", box.submit("second", "benchmark"))
    assert box.place.starts(NODE)[len(before) :] == ["device"], "nothing is timed again"
    return entry


class TestTheOtherCard:
    """Both are free, so that Slurm grants the first, and the second run's was the other."""

    def test_the_job_goes_on_with_the_card_that_it_proved(self, entry: SlurmJob) -> None:
        assert entry.outcome == "done"
        assert entry.gpu is not None
        assert (entry.gpu.index, entry.gpu.uuid) == (0, UUIDS[0])

    def test_the_platform_names_both_and_figures_stay(self, box: Box, entry: SlurmJob) -> None:
        folder = box.results("second") / NODE
        platform = read_record(PlatformRecord, folder / "platform.json")
        assert [device.gpu.uuid for device in platform.devices] == [UUIDS[1], UUIDS[0]]
        timed = read_record(BenchmarkRecord, folder / "benchmark" / "duel.json.gz")
        assert timed.gpu_uuid == UUIDS[1]


@pytest.mark.usefixtures("jobs")
class TestRefused:
    """What a job may be granted beside one card of its own."""

    def test_both_cards(self, box: Box) -> None:
        entry = box.ended("first", box.submit("first", "benchmark", gpus=2))
        assert (entry.outcome, entry.gpu_count, entry.gpu) == ("failed", 2, None)
        assert entry.reason == f"job {entry.job_id} was given 2 GPUs, not one"

    def test_a_card_that_a_neighbour_computes_on(self, box: Box) -> None:
        busy = box.place.folder / f"apps.{NODE}"
        busy.write_text(f"{UUIDS[0]}, 4711\n")
        entry = box.ended("first", box.submit("first", "correctness"))
        busy.write_text(f"{UUIDS[1]}, 4711\n")
        beside = box.ended("first", box.submit("first", "platform"))
        busy.unlink()
        assert entry.outcome == "failed"
        assert entry.reason is not None
        assert f"({UUIDS[0]}) is shared: 1 other process on it" in entry.reason
        assert beside.outcome == "done", "what is on the other card is the neighbour's own"
