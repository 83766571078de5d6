"""What Snakemake's executor is told of a site; ``tests/slurm`` has it with Slurm itself."""

from pathlib import Path

from assay.pipeline.slurm_jobs import executor_options, job_name, salt_of
from assay.records.cluster import NO_CLUSTER, ClusterFile


def test_a_run_keeps_its_salt(tmp_path: Path) -> None:
    assert salt_of(tmp_path) == salt_of(tmp_path) != salt_of(tmp_path / "other")


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
