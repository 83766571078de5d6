"""The report's account of a cluster's jobs: what each was granted, and which were lost."""

from dataclasses import dataclass

from assay.evidence.model import Evidence
from assay.evidence.stages import slurm_jobs_path
from assay.records.slurm_jobs import SlurmJob
from assay.report import formatting as fmt
from assay.report.links import Link, link
from assay.shared.counting import agreeing, counted

DIGITS = 12
"""Of a salted digest, which is whole in the record."""


@dataclass(frozen=True)
class SlurmJobRow:
    """One start of one job."""

    step: str
    job: str
    node: str
    granted: str
    gpu: str
    limits: str
    began: str
    ended: str


@dataclass(frozen=True)
class SlurmJobsSection:
    """The section on the jobs of a cluster."""

    lines: tuple[str, ...]
    rows: tuple[SlurmJobRow, ...]
    link: Link


def slurm_jobs_section(evidence: Evidence) -> SlurmJobsSection | None:
    """Return the section; None where no scheduler placed anything."""
    record = evidence.slurm_jobs
    if record is None:
        return None
    shown = None if record.salt is None else DIGITS
    return SlurmJobsSection(
        lines=tuple(_lines(record.jobs, salted=record.salt is not None)),
        rows=tuple(_row(job, shown) for job in record.jobs),
        link=link(f"evidence/{slurm_jobs_path()}"),
    )


def _lines(jobs: tuple[SlurmJob, ...], *, salted: bool) -> list[str]:
    retried = [job for job in jobs if job.outcome != "done"]
    number = len(retried)
    lines = [
        "Each job saw for itself, before it measured, that it had one whole GPU of the target with "
        "nobody else on it.",
        f"Of {counted(len(jobs), 'start')}, {number} {agreeing(number, 'was', 'were')} lost or "
        "failed and made again; no sample of theirs that was not whole is counted."
        if number
        else f"None of {counted(len(jobs), 'start')} was lost.",
    ]
    if salted:
        lines.append(
            "Names of nodes and accounts are SHA-256 digests of this run's salt and the name: they "
            "tell nodes apart, and whoever knows or guesses a name can find it."
        )
    return lines


def _row(job: SlurmJob, digits: int | None) -> SlurmJobRow:
    restarted = f", put back {counted(job.restart, 'time')}" if job.restart else ""
    account = f", account {job.account[:digits]}" if job.account else ""
    ended = job.outcome + (f": {job.reason}" if job.reason else "")
    return SlurmJobRow(
        step=f"{job.stage}, {job.target}",
        job=f"{job.job_id}{restarted}",
        node=job.node[:digits],
        granted=f"{job.gpu_count} of {job.gpu_model or 'no type'}, partition {job.partition}"
        f"{account}",
        gpu="none"
        if job.gpu is None
        else f"{job.gpu.index}: {job.gpu.product}, {job.gpu.uuid}, driver {job.gpu.driver}",
        limits=_limits(job),
        began=job.began_at,
        ended=ended if job.ended_at is None else f"{ended}, {job.ended_at}",
    )


def _limits(job: SlurmJob) -> str:
    memory = job.limits.memory_bytes
    devices = ", ".join(job.limits.gpu_devices) or "no GPU's device file"
    return (
        f"{counted(len(job.limits.cpus), 'CPU')}, "
        f"{'no limit of memory' if memory is None else fmt.size(memory)}, {devices}"
    )
