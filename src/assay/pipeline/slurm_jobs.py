"""The jobs of a run in Slurm's queue: their name, their options, and those that nobody waits for.

Every job of a run bears a name that begins with the run's own, so that a later start finds what an
earlier one left, whatever ended that.
"""

import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.progress import say
from assay.records.cluster import ClusterFile
from assay.shared.counting import counted
from assay.shared.files import sha256_bytes

PLUGIN_FOLDER = "workflow/slurm"
"""Where Snakemake finds the executor; only runs that ask for it look there."""
ASK_S = 60
"""Seconds that one of Slurm's commands may take."""
CANCEL_S = 120.0
"""Patience with jobs that were cancelled: Slurm grants them some time to end."""
POLL_S = 0.5
SLURM_LOGS = Path("logs") / "slurm"
"""Below a run's folder: what its jobs printed."""
LOOK_S = 20.0
"""How often jobs are looked for that were preempted for good."""


@dataclass(frozen=True)
class ClusterJob:
    """One line of squeue."""

    job_id: str
    state: str


def job_name(run_dir: Path) -> str:
    """Return what the names of a run's jobs begin with."""
    digest = sha256_bytes(str(run_dir.resolve()).encode())[:12]
    return f"assay-{run_dir.name[:24]}-{digest}"


def executor_options(cluster: ClusterFile, run_dir: Path) -> list[str]:
    """Return what Snakemake's executor is told of the site and of this run.

    Its jobs' output lies in the run's own folder: where runs of a checkout shared one, the plugin
    of a run that ended removed the empty folders into which another's waiting jobs were to write,
    and Slurm starts no job whose output it cannot open.
    """
    options = [
        "--jobs", str(cluster.max_jobs),
        "--retries", str(cluster.attempts - 1),
        "--seconds-between-status-checks", str(cluster.status_seconds),
        "--assay-slurm-status-command", cluster.status_command,
        "--assay-slurm-jobname-prefix", job_name(run_dir),
        "--assay-slurm-logdir", str(run_dir.resolve() / SLURM_LOGS),
        "--assay-slurm-requeue" if cluster.requeue else "--assay-slurm-no-requeue",
    ]  # fmt: skip
    if cluster.reservation:
        options += ["--assay-slurm-reservation", cluster.reservation]
    if cluster.exclude_nodes:
        options += ["--assay-slurm-exclude-failed-nodes", ",".join(cluster.exclude_nodes)]
    return options


def jobs_of(run_dir: Path, *states: str) -> list[ClusterJob]:
    """Return the jobs of a run that are in the queue, or in one of ``states``.

    Raises MissingEnvironment where Slurm does not answer.
    """
    wanted = [f"--states={','.join(states)}"] if states else []
    shown = _ask("squeue", "--me", "--noheader", *wanted, "--format=%i|%T|%j")
    rows = [line.split("|", 2) for line in shown.splitlines()]
    return [ClusterJob(row[0], row[1]) for row in rows if row[2].startswith(job_name(run_dir))]


def was_on_cluster(run_dir: Path) -> bool:
    """Return whether jobs of a run were placed by the Slurm that this machine talks to."""
    return (run_dir / "allocations").is_dir() and shutil.which("squeue") is not None


def cancel_orphans(run_dir: Path) -> None:
    """Cancel what an earlier start of the run left in the queue, and wait for its end.

    Call it while this process has the run. What such a job finished is kept. Raises
    MissingEnvironment where a job does not go.
    """
    left = jobs_of(run_dir)
    if not left:
        return
    say(f"an earlier start left {counted(len(left), 'job')} in Slurm's queue; cancelling")
    _ask("scancel", *(job.job_id for job in left))
    limit = time.monotonic() + CANCEL_S
    while left := jobs_of(run_dir):
        if time.monotonic() > limit:
            raise MissingEnvironment(
                f"Slurm job {left[0].job_id} of an earlier start was cancelled and is still "
                f"{left[0].state.lower()}: wait for its end, or have its node looked at"
            )
        time.sleep(POLL_S)


class Preempted:
    """Puts jobs back into the queue that were preempted for good.

    Where a cluster's way of preempting is to cancel, Slurm leaves the job as it is, and Snakemake
    waits for it to be resumed.
    """

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._due = time.monotonic() + LOOK_S

    def look(self) -> None:
        """Look, if it is time to. Raises CheckFailed for a job that Slurm does not take back."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + LOOK_S
        try:
            self._put_back(jobs_of(self._run_dir, "PREEMPTED"))
        except MissingEnvironment as silent:
            say(f"{silent}; asking again")

    def _put_back(self, jobs: Iterable[ClusterJob]) -> None:
        for job in jobs:
            try:
                _ask("scontrol", "requeue", job.job_id)
            except MissingEnvironment as error:
                if jobs_of(self._run_dir, "PREEMPTED"):
                    raise CheckFailed(
                        f"Slurm job {job.job_id} was preempted and cannot be put back into the "
                        f"queue: start the run again, which goes on where it was ({error})"
                    ) from error
            else:
                say(f"Slurm job {job.job_id} was preempted, and is in the queue again")


def _ask(*command: str) -> str:
    """Return the answer of one of Slurm's commands. Raises MissingEnvironment."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=ASK_S
        ).stdout
    except subprocess.CalledProcessError as error:
        words = error.stderr.strip() or f"code {error.returncode}"
        raise MissingEnvironment(f"Slurm's {command[0]} fails: {words}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingEnvironment(f"Slurm does not answer {command[0]}: {error}") from error
