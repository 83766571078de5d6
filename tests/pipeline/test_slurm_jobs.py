"""What Snakemake's executor is told of a site, and the journal of a run's jobs.

The journal is true whatever ends a job, and a report tells it without the site's names.
``tests/slurm`` has all this with Slurm itself.
"""

from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.base.io import read_record
from assay.measuring.slurm_grant import GpuRefused, SlurmGrant
from assay.pipeline import slurm_jobs
from assay.pipeline.slurm_jobs import (
    JobJournal,
    executor_options,
    job_name,
    journal_of,
    salt_of,
    salted,
    write_slurm_jobs,
)
from assay.records.cluster import (
    NO_CLUSTER,
    CgroupLimits,
    ClusterFile,
    HeldGpu,
    SlurmJobsRecord,
)

LIMITS = CgroupLimits(cpus=(0, 1), memory_bytes=8_000_000_000, gpu_devices=("/dev/nvidia3",))
HELD = HeldGpu(index=3, product="NVIDIA H100 80GB HBM3", uuid="GPU-aa", driver="580.65.06")


@pytest.fixture(autouse=True)
def slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_jobs, "why_ended", lambda job: f"asked of {job}")


def begin(run: Path, job: str = "17", restart: int = 0, stage: str = "benchmark") -> JobJournal:
    grant = SlurmGrant(job, restart, "gpu07", "gpu", "secret", "h100", 1, 3, None)
    return JobJournal(run, "h100", stage, grant, LIMITS)


class TestAnEntry:
    """Of one start of one job."""

    def test_it_ends_with_the_gpu_that_it_held(self, tmp_path: Path) -> None:
        journal = begin(tmp_path)
        journal.held(HELD)
        journal.end(None)
        (job,) = journal_of(tmp_path)
        assert (job.outcome, job.gpu, job.reason) == ("done", HELD, None)
        assert job.ended_at is not None

    @pytest.mark.parametrize(
        ("error", "reason"),
        [
            (GpuRefused("it is shared"), "it is shared"),
            (CheckFailed("wrong on gpu07"), "the step failed (check-failed)"),
            (RuntimeError("gpu07"), "the step failed (RuntimeError)"),
        ],
    )
    def test_of_a_failure_only_our_own_proof_is_quoted(
        self, tmp_path: Path, error: Exception, reason: str
    ) -> None:
        begin(tmp_path).end(error)
        (job,) = journal_of(tmp_path)
        assert (job.outcome, job.reason) == ("failed", reason)


def test_the_reports_record_is_salted(tmp_path: Path) -> None:
    begin(tmp_path).end(GpuRefused("it is shared"))
    write_slurm_jobs(tmp_path)
    path = tmp_path / "slurm_jobs.json"
    record = read_record(SlurmJobsRecord, path)
    (job,) = record.jobs
    salt = salt_of(tmp_path)
    assert record.salt == salt
    assert (job.node, job.account) == (salted(salt, "gpu07"), salted(salt, "secret"))
    assert "gpu07" not in path.read_text() and "secret" not in path.read_text()


def test_the_executor_is_told_what_the_site_says(tmp_path: Path) -> None:
    cluster = ClusterFile.model_validate(
        {
            "schema": "assay/cluster/1", "max_jobs": 4, "attempts": 5, "requeue": False,
            "status_command": "sacct", "reservation": "ours", "exclude_nodes": ("a", "b"),
        }
    )  # fmt: skip
    said = " ".join(executor_options(cluster, tmp_path / "run"))
    for option in (
        "--jobs 4", "--retries 4",
        "--slurm-no-requeue", "--slurm-status-command sacct",
        "--slurm-reservation ours", "--slurm-exclude-failed-nodes a,b",
        f"--slurm-jobname-prefix {job_name(tmp_path / 'run')}",
        f"--slurm-logdir {tmp_path / 'run' / 'logs' / 'slurm'}",
    ):  # fmt: skip
        assert option in said
    assert "--slurm-requeue" in executor_options(NO_CLUSTER, tmp_path)
