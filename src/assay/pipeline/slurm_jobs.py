"""The jobs of a run in Slurm's queue, and what a run keeps of its nodes.

Every job's name begins with the run's own. A report has salted digests for names of nodes.
"""

import secrets
import shutil
import time
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.base.progress import say
from assay.measuring.slurm_grant import ask_slurm
from assay.records.cluster import ClusterFile
from assay.shared.counting import counted
from assay.shared.files import sha256_bytes, write_bytes

CANCEL_S = 120.0
"""Patience with jobs that were cancelled: Slurm grants them some time to end."""
POLL_S = 0.5
SLURM_LOGS = Path("logs") / "slurm"
"""Below a run's folder: what its jobs printed."""
FOLDER = "allocations"
"""Below a run's folder: the nodes that its targets are measured on."""
SALT_BYTES = 16


def job_name(run_dir: Path) -> str:
    """Return what the names of a run's jobs begin with."""
    digest = sha256_bytes(str(run_dir.resolve()).encode())[:12]
    return f"assay-{run_dir.name[:24]}-{digest}"


def executor_options(cluster: ClusterFile, run_dir: Path) -> list[str]:
    """Return what Snakemake's executor is told of the site and of this run. Its jobs' output lies
    in the run's own folder: of a shared one the plugin of an ended run removes empty folders, and
    Slurm starts no job whose output it cannot open.
    """
    options = [
        "--jobs", str(cluster.max_jobs),
        "--retries", str(cluster.attempts - 1),
        "--slurm-status-command", cluster.status_command,
        "--slurm-jobname-prefix", job_name(run_dir),
        "--slurm-logdir", str(run_dir.resolve() / SLURM_LOGS),
        "--slurm-requeue" if cluster.requeue else "--slurm-no-requeue",
    ]  # fmt: skip
    if cluster.reservation:
        options += ["--slurm-reservation", cluster.reservation]
    if cluster.exclude_nodes:
        options += ["--slurm-exclude-failed-nodes", ",".join(cluster.exclude_nodes)]
    return options


def jobs_of(run_dir: Path, *states: str) -> list[str]:
    """Return ids of a run's queued jobs, or of ``states``. Raises MissingEnvironment."""
    wanted = [f"--states={','.join(states)}"] if states else []
    shown = ask_slurm("squeue", "--me", "--noheader", *wanted, "--format=%i|%j")
    rows = [line.split("|", 1) for line in shown.splitlines()]
    return [job_id for job_id, name in rows if name.startswith(job_name(run_dir))]


def was_on_cluster(run_dir: Path) -> bool:
    """Return whether jobs of a run were placed by the Slurm that this machine talks to."""
    return (run_dir / FOLDER).is_dir() and shutil.which("squeue") is not None


def cancel_orphans(run_dir: Path) -> None:
    """Cancel what an earlier start left in the queue, and wait for its end; call it while this
    process has the run. Raises MissingEnvironment where a job does not go.
    """
    left = jobs_of(run_dir)
    if not left:
        return
    say(f"an earlier start left {counted(len(left), 'job')} in Slurm's queue; cancelling")
    ask_slurm("scancel", *left)
    limit = time.monotonic() + CANCEL_S
    while left := jobs_of(run_dir):
        if time.monotonic() > limit:
            raise MissingEnvironment(
                f"Slurm job {left[0]} of an earlier start was cancelled and is still there: "
                "wait for its end, or have its node looked at"
            )
        time.sleep(POLL_S)


def requeue_preempted(run_dir: Path) -> None:
    """Put jobs back into the queue that Slurm cancelled to preempt them, for which Snakemake would
    wait forever. Raises MissingEnvironment for one that is not taken back.
    """
    try:
        jobs = jobs_of(run_dir, "PREEMPTED")
    except MissingEnvironment as silent:
        say(f"{silent}; asking again")
        return
    for job in jobs:
        try:
            ask_slurm("scontrol", "requeue", job)
            say(f"Slurm job {job} was preempted, and is in the queue again")
        except MissingEnvironment:
            if job in jobs_of(run_dir, "PREEMPTED"):
                raise


def remember_node(run_dir: Path, target: str, node: str) -> None:
    """Keep which node holds the GPU whose platform was recorded: a further start runs there."""
    write_bytes(run_dir / FOLDER / f"{target}.node", node.encode())


def node_of(run_dir: Path, target: str) -> str | None:
    """Return that node; None before there is any."""
    path = run_dir / FOLDER / f"{target}.node"
    return path.read_text() if path.is_file() else None


def salt_of(run_dir: Path) -> str:
    """Return what stands before digested names of nodes: the run's own, made by its command."""
    path = run_dir / FOLDER / "salt"
    if not path.is_file():
        write_bytes(path, secrets.token_hex(SALT_BYTES).encode())
    return path.read_text()
