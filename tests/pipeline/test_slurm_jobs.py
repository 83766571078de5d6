"""Jobs of a run in Slurm's queue, with stand-ins for Slurm's commands.

``tests/slurm`` has the same with Slurm itself.
"""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.pipeline import slurm_jobs
from assay.pipeline.slurm_jobs import (
    PLUGIN_FOLDER,
    Preempted,
    cancel_orphans,
    executor_options,
    job_name,
    jobs_of,
)
from assay.records.cluster import NO_CLUSTER, ClusterFile
from assay.shared.files import write_bytes

SQUEUE = """#!/bin/sh
echo "squeue $*" >> {log}
case "$*" in *--states=*) cat {queue}.ended;; *) cat {queue};; esac
"""
SCANCEL = """#!/bin/sh
echo "scancel $*" >> {log}
{then}
"""
SCONTROL = """#!/bin/sh
echo "scontrol $*" >> {log}
{then}
"""


class Slurm:
    """A queue as a file, and a log of what was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.run = folder, folder / "results" / "nightly"
        self.queue, self.log = folder / "queue", folder / "log"
        self.run.mkdir(parents=True)
        self.holds()
        self.command("squeue", SQUEUE)
        self.command("scancel", SCANCEL, f": > {self.queue}")
        self.command("scontrol", SCONTROL, f": > {self.queue}.ended")

    def command(self, name: str, text: str, then: str = "") -> None:
        path = self.folder / "bin" / name
        text = text.format(log=self.log, queue=self.queue, then=then)
        write_bytes(path, text.encode())
        path.chmod(0o755)

    def holds(self, *lines: str, ended: tuple[str, ...] = ()) -> None:
        name = job_name(self.run)
        for path, held in ((self.queue, lines), (Path(f"{self.queue}.ended"), ended)):
            path.write_text("".join(f"{line.replace('OURS', name)}\n" for line in held))

    def asked(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(slurm_jobs, "POLL_S", 0.01)
    return Slurm(tmp_path)


class TestTheName:
    """Tells a run of one folder from every other."""

    def test_runs_of_one_name_in_two_folders_differ(self, tmp_path: Path) -> None:
        assert job_name(tmp_path / "a" / "run") != job_name(tmp_path / "b" / "run")


class TestOrphans:
    """What an earlier start left."""

    def test_only_jobs_of_this_run_are_cancelled(self, slurm: Slurm) -> None:
        slurm.holds("11|OURS_x", "12|assay-nightly-0_y", "13|OURS_z")
        cancel_orphans(slurm.run)
        assert "scancel 11 13" in slurm.asked()
        assert jobs_of(slurm.run) == []


class TestPreempted:
    """Jobs that Slurm ended to make room, and does not start again by itself."""

    @pytest.fixture
    def watch(self, slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> Preempted:
        monkeypatch.setattr(slurm_jobs, "LOOK_S", 0.0)
        return Preempted(slurm.run)

    def test_they_are_put_back(self, slurm: Slurm, watch: Preempted) -> None:
        slurm.holds(ended=("11|OURS_x", "12|another"))
        watch.look()
        assert "scontrol requeue 11" in slurm.asked()
        assert "scontrol requeue 12" not in slurm.asked()


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
