"""All that befalls jobs of a real cluster: the run goes on, and repeats only what was lost."""

import time
from collections import Counter
from pathlib import Path

import pytest

from assay.verification.verify import verify
from tests.pipeline.stand_in import waited
from tests.slurm.cluster import SPARE, URGENT, Cluster, slurm
from tests.slurm.measured import MeasuredCheckout, MeasuredRun, kill_outright

pytestmark = pytest.mark.slurm

NAMES = ("duel_a", "duel_b")
TARGET, NODE = "h100", SPARE
CLEANED_S = 8.0
"""A node has taken away what is left of a job by then, and can start it again."""


class Trouble:
    """A run whose benchmark waits in its second comparison, until it is let go."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.place = cluster, MeasuredCheckout(folder, [TARGET], NAMES)
        self.place.moves(TARGET, NODE)
        self.run = MeasuredRun(self.place, "troubled")
        self.slow, self.waiting = (folder / TARGET / name for name in ("slow", "waiting"))
        self.slow.write_text("benchmark.duel_b")

    def benchmark_waits(self) -> str:
        """Return the id of the job that waits there, with its first comparison kept."""
        self.waiting.unlink(missing_ok=True)
        asked = time.monotonic()

        def there() -> bool:
            if time.monotonic() - asked > CLEANED_S:
                self.start_now()
            return self.waiting.exists()

        assert waited(there), self.run.said() + self.cluster.logs()
        return self.run.job(self.cluster, "RUNNING")

    def start_now(self) -> None:
        """Slurm has a job that was put back wait for two minutes; a test has not the time."""
        for job in self.run.jobs("PENDING"):
            slurm("scontrol", "update", f"JobId={job}", "StartTime=now")

    def preempt(self) -> None:
        slurm(
            "sbatch", "--wait", f"--partition={URGENT}", f"--gpus={TARGET}:1", "--output=/dev/null",
            "--wrap=true",
        )  # fmt: skip


@pytest.fixture(scope="module")
def trouble(cluster, tmp_path_factory, request) -> Trouble:
    """A run that had everything happen to it, one after the other, and came to its end."""
    trouble = Trouble(cluster, tmp_path_factory.mktemp("trouble"))
    request.addfinalizer(trouble.place.stop)
    run, folder = trouble.run, trouble.place.folder

    # The node is drained, so that the first job waits in the queue; the submitter is killed.
    slurm("scontrol", "update", f"NodeName={NODE}", "State=DRAIN", "Reason=test")
    command = run.start()
    orphan = run.job(cluster, "PENDING")
    kill_outright(command)
    assert run.jobs() == [orphan]

    # It comes back with a driver that answers nothing the first time.
    (folder / f"lost.{NODE}").touch()
    command = run.start()
    assert waited(lambda: orphan not in run.jobs())
    slurm("scontrol", "update", f"NodeName={NODE}", "State=RESUME")

    slurm("scontrol", "requeue", trouble.benchmark_waits())
    trouble.benchmark_waits()
    slurm("scontrol", "update", f"NodeName={NODE}", "State=DOWN", "Reason=test")
    slurm("scontrol", "update", f"NodeName={NODE}", "State=RESUME")
    trouble.benchmark_waits()
    trouble.preempt()
    trouble.benchmark_waits()

    # Killed once more, now with a record that is half written.
    kill_outright(command)
    assert waited(lambda: run.jobs() == [])
    (kept,) = (run.folder / "kept" / "benchmark" / TARGET).glob("duel_a.*")
    kept.write_bytes(kept.read_bytes()[:1000])
    trouble.slow.unlink()
    assert run.start().wait(300) == 0, run.said() + cluster.logs()
    return trouble


class TestTrouble:
    """What a run is after all that."""

    def test_only_what_was_lost_is_measured_again(self, trouble: Trouble) -> None:
        measured = Counter(trouble.place.starts(TARGET))
        assert measured["correctness duel_a duel_b"] == 1
        # Once at first, once because its record was half written; else it was taken up.
        whole, rest = measured["benchmark duel_a duel_b"], measured["benchmark duel_b"]
        assert (whole, rest) == (2, 3)

    def test_every_job_held_the_one_gpu(self, trouble: Trouble) -> None:
        assert not trouble.run.platform(TARGET).others

    def test_no_job_is_left(self, trouble: Trouble) -> None:
        assert trouble.run.jobs() == []

    def test_the_signed_report_verifies(self, trouble: Trouble) -> None:
        report = trouble.place.root / "reports" / trouble.run.name
        key = trouble.place.folder / "key.pub"
        assert verify(report, [key], repository=trouble.place.root).holds


def test_a_wrong_gpu_ends_the_run_with_its_reason_and_no_figure(cluster, tmp_path, request):
    """The driver of the node lists another GPU than Slurm says it has."""
    place = MeasuredCheckout(tmp_path, ["h100"], NAMES)
    request.addfinalizer(place.stop)
    place.lists("h100", "0, GPU-l4, 580.65.06, [N/A], NVIDIA L4")
    run = MeasuredRun(place, "wrong")
    assert run.start().wait(300) == 1, run.said() + cluster.logs()
    # Submitted again, it finds the same and asks no device.
    assert "the GPU of this job is NVIDIA L4" in run.said()
    assert not (tmp_path / "h100" / "starts").exists()
    assert not (run.folder / "h100" / "platform.json").exists()
    assert run.jobs() == []
