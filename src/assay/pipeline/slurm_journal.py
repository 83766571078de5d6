"""The journal of a run's Slurm jobs: each start writes itself down as lost, and later how it ended.

So whatever ends a job, what it leaves is true. The journal lies in the run's folder, with names of
nodes and accounts; a report gets it as ``slurm_jobs.json``, with salted digests in their places
unless the names are to be told.
"""

import hashlib
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

from assay.base.errors import AssayError, BadInput
from assay.base.io import read_record, write_record, write_record_if_changed
from assay.evidence.stages import slurm_jobs_path
from assay.measuring.slurm_grant import GpuRefused, SlurmGrant, why_ended
from assay.records.slurm_jobs import (
    CgroupLimits,
    HeldGpu,
    Outcome,
    SlurmJob,
    SlurmJobsRecord,
)

FOLDER = "allocations"
SALT_BYTES = 16


class JobJournal:
    """The entry of the job that this process is part of."""

    def __init__(
        self, run_dir: Path, target: str, stage: str, grant: SlurmGrant, limits: CgroupLimits
    ) -> None:
        self._folder = run_dir / FOLDER / target
        self._path = self._folder / f"{stage}.{grant.job_id}.{grant.restart}.json"
        self._explain_lost(stage)
        self._job = SlurmJob(
            schema="assay/slurm_job/1",
            target=target,
            stage=stage,
            job_id=grant.job_id,
            restart=grant.restart,
            node=grant.node,
            account=grant.account,
            partition=grant.partition,
            gpu_model=grant.gpu_model,
            gpu_count=grant.gpu_count,
            limits=limits,
            gpu=None,
            began_at=_now(),
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
        ended = {"outcome": outcome, "reason": reason, "ended_at": _now()}
        write_record(self._job.model_copy(update=ended), self._path)

    def _explain_lost(self, stage: str) -> None:
        """Ask Slurm, while it still knows, why earlier starts of this step were lost."""
        for path in self._folder.glob(f"{stage}.*.json"):
            job = _read(path)
            if job is not None and job.outcome == "lost" and job.reason is None:
                write_record(job.model_copy(update={"reason": why_ended(job.job_id)}), path)


def journal_of(run_dir: Path) -> list[SlurmJob]:
    """Return every start of every job of a run, in their order; half-written ones are none."""
    found = [_read(path) for path in (run_dir / FOLDER).glob("*/*.json")]
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


def told_retried(jobs: list[SlurmJob]) -> list[str]:
    """Return a line on each start that was lost, or failed and was followed by one that did not."""
    finished = {(job.target, job.stage) for job in jobs if job.outcome == "done"}
    return [
        f"{job.stage}.{job.target}: Slurm job {job.job_id} was {job.outcome}"
        f"{f', {job.reason}' if job.reason else ''}; a later one finished the step"
        for job in jobs
        if job.outcome != "done" and (job.target, job.stage) in finished
    ]


def write_slurm_jobs(run_dir: Path, *, names: bool) -> None:
    """Write slurm_jobs.json below the run's directory, where it had jobs; else remove it."""
    jobs, path = journal_of(run_dir), run_dir / slurm_jobs_path()
    if not jobs:
        path.unlink(missing_ok=True)
        return
    salt = None if names else salt_of(run_dir)
    record = SlurmJobsRecord(
        schema="assay/slurm_jobs/1", salt=salt, jobs=tuple(_shown(job, salt) for job in jobs)
    )
    write_record_if_changed(record, path)


def salt_of(run_dir: Path) -> str:
    """Return the run's salt, made on first use; every process of the run finds the same."""
    path = run_dir / FOLDER / "salt"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        own = path.with_name(f".salt.{secrets.token_hex(8)}")
        own.write_text(secrets.token_hex(SALT_BYTES))
        try:
            os.link(own, path)
        except FileExistsError:
            pass  # another process was first, and that one's holds
        finally:
            own.unlink()
    return path.read_text()


def salted(salt: str, name: str) -> str:
    """Return what stands for a name: SHA-256 of the salt and the name."""
    return hashlib.sha256(f"{salt}{name}".encode()).hexdigest()


def _shown(job: SlurmJob, salt: str | None) -> SlurmJob:
    if salt is None:
        return job
    account = None if job.account is None else salted(salt, job.account)
    return job.model_copy(update={"node": salted(salt, job.node), "account": account})


def _read(path: Path) -> SlurmJob | None:
    try:
        return read_record(SlurmJob, path)
    except BadInput:
        return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
