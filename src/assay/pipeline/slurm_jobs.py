"""The jobs of a run in Slurm's queue, and the journal of them.

Every job's name begins with the run's own. Each start writes itself into the journal as lost, and
later how it ended: whatever ends a job, what it leaves is true. A report gets the journal with
salted digests for names of nodes and accounts.
"""

import os
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from assay.base.errors import AssayError, MissingEnvironment
from assay.base.io import write_record, write_record_if_changed
from assay.base.progress import say
from assay.evidence.stages import slurm_jobs_path
from assay.measuring.host_machine import now
from assay.measuring.resume import kept_record
from assay.measuring.slurm_grant import GpuRefused, SlurmGrant, ask_slurm, why_ended
from assay.records.cluster import (
    CgroupLimits,
    ClusterFile,
    HeldGpu,
    Outcome,
    SlurmJob,
    SlurmJobsRecord,
)
from assay.shared.counting import counted
from assay.shared.files import sha256_bytes, write_bytes

CANCEL_S = 120.0
"""Patience with jobs that were cancelled: Slurm grants them some time to end."""
POLL_S = 0.5
SLURM_LOGS = Path("logs") / "slurm"
"""Below a run's folder: what its jobs printed."""
FOLDER = "allocations"
"""Below a run's folder: the journal of its jobs."""
SALT_BYTES = 16


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
    """Return the ids of a run's jobs that are in the queue, or in one of ``states``.

    Raises MissingEnvironment where Slurm does not answer.
    """
    wanted = [f"--states={','.join(states)}"] if states else []
    shown = ask_slurm("squeue", "--me", "--noheader", *wanted, "--format=%i|%j")
    rows = [line.split("|", 1) for line in shown.splitlines()]
    return [job_id for job_id, name in rows if name.startswith(job_name(run_dir))]


def was_on_cluster(run_dir: Path) -> bool:
    """Return whether jobs of a run were placed by the Slurm that this machine talks to."""
    return (run_dir / FOLDER).is_dir() and shutil.which("squeue") is not None


def cancel_orphans(run_dir: Path) -> None:
    """Cancel what an earlier start of the run left in the queue, and wait for its end.

    Call it while this process has the run. What such a job finished is kept. Raises
    MissingEnvironment where a job does not go.
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
    """Put jobs back into the queue that were preempted for good. Raises MissingEnvironment for one
    that is not taken back.

    Where a cluster's way of preempting is to cancel, Slurm leaves the job as it is, and Snakemake
    waits for it to be resumed.
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


class JobJournal:
    """The entry of the job that this process is part of."""

    def __init__(
        self, run_dir: Path, target: str, stage: str, grant: SlurmGrant, limits: CgroupLimits
    ) -> None:
        folder = run_dir / FOLDER / target
        for path in folder.glob(f"{stage}.*.json"):
            lost = kept_record(path, SlurmJob)
            if lost is not None and lost.outcome == "lost" and lost.reason is None:
                # Slurm is asked while it still knows.
                write_record(lost.model_copy(update={"reason": why_ended(lost.job_id)}), path)
        self._path = folder / f"{stage}.{grant.job_id}.{grant.restart}.json"
        self._job = SlurmJob(
            schema="assay/slurm_job/1",
            target=target,
            stage=stage,
            **{name: v for name, v in asdict(grant).items() if name in SlurmJob.model_fields},
            limits=limits,
            gpu=None,
            began_at=now(),
            ended_at=None,
            outcome="lost",
            reason=None,
        )
        write_record(self._job, self._path)

    @property
    def place(self) -> str:
        """Return which job this is, and where, for whoever reads of its failure."""
        return f"Slurm job {self._job.job_id} on node {self._job.node}"

    def held(self, gpu: HeldGpu) -> None:
        """Take down the GPU that was seen to be the job's own."""
        self._job = self._job.model_copy(update={"gpu": gpu})
        write_record(self._job, self._path)

    def end(self, error: Exception | None) -> None:
        """Take down how the job ended. Of an error only what names no place of the site is told."""
        outcome: Outcome = "done" if error is None else "failed"
        reason = None
        if isinstance(error, GpuRefused):
            reason = str(error)
        elif error is not None:
            code = error.code if isinstance(error, AssayError) else type(error).__name__
            reason = f"the step failed ({code})"
        ended = {"outcome": outcome, "reason": reason, "ended_at": now()}
        write_record(self._job.model_copy(update=ended), self._path)


def journal_of(run_dir: Path) -> list[SlurmJob]:
    """Return every start of every job of a run, in their order; half-written ones are none."""
    found = [kept_record(path, SlurmJob) for path in (run_dir / FOLDER).glob("*/*.json")]
    return sorted(
        (job for job in found if job is not None),
        key=lambda job: (job.began_at, job.target, job.stage, job.job_id, job.restart),
    )


def node_of(run_dir: Path, target: str) -> str | None:
    """Return the node that holds the GPU whose platform was recorded; None before that."""
    done = [
        job.node
        for job in journal_of(run_dir)
        if (job.target, job.stage, job.outcome) == (target, "platform", "done") and job.gpu
    ]
    return done[-1] if done else None


def write_slurm_jobs(run_dir: Path) -> None:
    """Write slurm_jobs.json below the run's directory, where it had jobs; else remove it."""
    jobs, path = journal_of(run_dir), run_dir / slurm_jobs_path()
    if not jobs:
        path.unlink(missing_ok=True)
        return
    salt, shown = salt_of(run_dir), []
    for job in jobs:
        account = None if job.account is None else salted(salt, job.account)
        named = {"node": salted(salt, job.node), "account": account}
        shown.append(job.model_copy(update=named))
    record = SlurmJobsRecord(schema="assay/slurm_jobs/1", salt=salt, jobs=tuple(shown))
    write_record_if_changed(record, path)


def salt_of(run_dir: Path) -> str:
    """Return the run's salt, made on first use; every process of the run finds the same."""
    path = run_dir / FOLDER / "salt"
    if not path.is_file():
        own = path.with_name(f".salt.{secrets.token_hex(8)}")
        write_bytes(own, secrets.token_hex(SALT_BYTES).encode())
        try:
            with suppress(FileExistsError):  # another process was first, and that one's holds
                os.link(own, path)
        finally:
            own.unlink()
    return path.read_text()


def salted(salt: str, name: str) -> str:
    """Return what stands for a name: SHA-256 of the salt and the name."""
    return sha256_bytes(f"{salt}{name}".encode())
