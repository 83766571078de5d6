"""``config/cluster.yaml``: what one site's Slurm calls things, and what jobs may ask of it.

Every key may be left out. The file is the site's: no report carries it along.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from assay.records.base import Record, SlurmName
from assay.records.images import RuntimeWish

CLUSTER_FILE = "config/cluster.yaml"
"""In the repository; a project has its own beside assay.yaml."""
PROJECT_CLUSTER_FILE = "cluster.yaml"

Constraint = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9\[(][A-Za-z0-9_.:&|*,()\[\]-]*$", max_length=200)
]
"""Node features as sbatch's --constraint takes them."""
GpuType = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.]+$", max_length=64)]
"""A type of Slurm's GPUs, as far as Snakemake's executor takes it: no hyphen."""


class JobWishes(Record):
    """What sbatch is told for a job; None leaves it to what stands above, at last to Slurm."""

    partition: SlurmName | None = None
    account: SlurmName | None = None
    qos: SlurmName | None = None
    constraint: Constraint | None = None
    nodes: tuple[SlurmName, ...] = ()
    """The only nodes it may run on."""
    minutes: Annotated[int, Field(gt=0)] | None = None
    """The time limit."""
    memory_mb: Annotated[int, Field(gt=0)] | None = None
    cores: Annotated[int, Field(gt=0)] | None = None


class TargetSite(JobWishes):
    """One target at this site."""

    gpu_type: GpuType | None = None
    """The type of its GPU in Slurm's GRES; None: the target's own ``gpu_model``."""


class ClusterFile(Record):
    """``config/cluster.yaml``. What is said of a target goes before ``jobs``."""

    schema_: Literal["assay/cluster/1"] = Field(alias="schema")
    jobs: JobWishes = JobWishes()
    """Of every job."""
    targets: dict[str, TargetSite] = {}
    gpu_option: Literal["gpus", "gres"] = "gpus"
    """How a GPU is asked for: ``--gpus=TYPE:1``, or ``--gres=gpu:TYPE:1``."""
    reservation: SlurmName | None = None
    exclude_nodes: tuple[SlurmName, ...] = ()
    """Nodes on which no job is to run."""
    max_jobs: Annotated[int, Field(gt=0)] = 16
    """Jobs in the queue at once."""
    attempts: Annotated[int, Field(gt=0, le=10)] = 3
    """How often a job is submitted that fails: at its time limit, cancelled, with its node or its
    driver, or by a check of ours."""
    requeue: bool = True
    """Whether Slurm itself puts a job back into the queue whose node failed, or that was
    preempted."""
    status_command: Literal["squeue", "sacct"] = "squeue"
    """What tells how jobs ended; sacct needs Slurm's accounting database."""
    runtime: RuntimeWish | None = None
    """Container runtime of the nodes; None: that of config/config.yaml."""


NO_CLUSTER = ClusterFile(schema="assay/cluster/1")
"""Of a site that says nothing."""
