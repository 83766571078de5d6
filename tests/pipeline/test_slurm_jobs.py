"""What Snakemake's executor is told of a site; ``tests/slurm`` has it with Slurm itself."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

from assay.pipeline.slurm_jobs import (
    PLUGIN_FOLDER,
    executor_options,
    job_name,
)
from assay.records.cluster import NO_CLUSTER, ClusterFile


def test_the_executor_is_told_what_the_site_says(tmp_path: Path) -> None:
    cluster = ClusterFile.model_validate(
        {
            "schema": "assay/cluster/1", "max_jobs": 4, "attempts": 5, "requeue": False,
            "status_command": "sacct", "reservation": "ours", "exclude_nodes": ("a", "b"),
            "status_seconds": 30,
        }
    )  # fmt: skip
    said = " ".join(executor_options(cluster, tmp_path / "run"))
    for option in (
        "--jobs 4", "--retries 4", "--seconds-between-status-checks 30",
        "--assay-slurm-no-requeue", "--assay-slurm-status-command sacct",
        "--assay-slurm-reservation ours", "--assay-slurm-exclude-failed-nodes a,b",
        f"--assay-slurm-jobname-prefix {job_name(tmp_path / 'run')}",
        f"--assay-slurm-logdir {tmp_path / 'run' / 'logs' / 'slurm'}",
    ):  # fmt: skip
        assert option in said
    assert "--assay-slurm-requeue" in executor_options(NO_CLUSTER, tmp_path)


def test_a_look_at_jobs_is_never_later_than_the_site_says(root: Path) -> None:
    """Snakemake's plugin waits ten seconds longer after each that found none ended."""
    folder = root / PLUGIN_FOLDER / "snakemake_executor_plugin_assay_slurm"
    described = importlib.util.spec_from_file_location("plugin", folder / "__init__.py")
    assert described is not None
    assert described.loader is not None
    plugin = importlib.util.module_from_spec(described)
    described.loader.exec_module(plugin)
    executor = object.__new__(plugin.Executor)
    executor._next_seconds_between_status_checks = 1
    settings = SimpleNamespace(seconds_between_status_checks=15)
    executor.workflow = SimpleNamespace(remote_execution_settings=settings)
    waits = []
    for _ in range(4):
        waits.append(executor.next_seconds_between_status_checks)
        executor.next_seconds_between_status_checks = min(waits[-1] + 10, 180)
    assert waits == [1, 11, 15, 15]
