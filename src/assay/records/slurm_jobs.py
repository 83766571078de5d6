"""The jobs of a cluster that a run consisted of: what each was granted, and how it ended."""

from typing import Literal

from pydantic import Field

from assay.records.base import Moment, Record

Outcome = Literal["lost", "done", "failed"]
"""``lost``: it ended without a word of ours, by Slurm or with its node."""


class CgroupLimits(Record):
    """The bounds that the node set a job, as the job itself met them."""

    cpus: tuple[int, ...]
    """Those that it may run on."""
    memory_bytes: int | None
    """None: as much as the node has."""
    gpu_devices: tuple[str, ...]
    """Device files of GPUs that it may open."""


class HeldGpu(Record):
    """The one GPU that a job had, as the driver named it before anything was measured.

    It was whole and nobody else's: a job with any other GPU ends, and has none here.
    """

    index: int
    """On its node, by Slurm's count."""
    product: str
    uuid: str
    driver: str


class SlurmJob(Record):
    """One start of one job."""

    schema_: Literal["assay/slurm_job/1"] = Field(alias="schema")
    target: str
    stage: str
    job_id: str
    restart: int
    """How often Slurm itself had put it back into the queue before."""
    node: str
    account: str | None
    """In a report, node and account are salted digests unless their names were to be told."""
    partition: str
    gpu_model: str
    """The type that it was granted; empty where Slurm names none."""
    gpu_count: int
    limits: CgroupLimits
    gpu: HeldGpu | None
    """None where it ended before that was certain, or where nothing was measured."""
    began_at: Moment
    ended_at: Moment | None
    outcome: Outcome
    reason: str | None
    """Why it was lost, or failed."""


class SlurmJobsRecord(Record):
    """``slurm_jobs.json``: every start of every job of a run, those that were lost among them."""

    schema_: Literal["assay/slurm_jobs/1"] = Field(alias="schema")
    salt: str | None
    """Stands before every name whose SHA-256 stands for it; None: the names are told."""
    jobs: tuple[SlurmJob, ...]
