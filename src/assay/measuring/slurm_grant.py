"""Slurm's word on its GPUs, and on the job that this process is part of."""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.records.platform import Target

TYPED_GPU = (
    r"^\s*JOB_GRES=(?:\S*,)?gpu:([\w.-]+):(\d+)",
    r"^\s*(?:Alloc)?TRES=\S*\bgres/gpu:([\w.-]+)=(\d+)",
    r"^\s*TresPer(?:Job|Node)=\S*\bgres[/:]gpu:([\w.-]+)[:=](\d+)",
)
"""Where Slurm names a job's GPUs: granted, accounted for (typed at some sites), asked for."""
PART_OF_GPU = r"^\s*(?:JOB_GRES|(?:Alloc)?TRES)=\S*\b(shard|mps)\b"
ASK_S = 60
"""Seconds that one of Slurm's commands may take."""
SINFO_GPU = re.compile(r"gpu:([A-Za-z0-9_.-]+):(\d+)")


@dataclass(frozen=True)
class SlurmGrant:
    """What Slurm granted a job."""

    job_id: str
    node: str
    partition: str
    gpu_model: str
    """Empty where Slurm names no type."""
    gpu_count: int
    part_of_gpu: str | None
    """``shard`` or ``mps``, where a part of a GPU was granted."""

    def __str__(self) -> str:
        """Return which job it is, and where, for whoever reads of its failure."""
        return f"Slurm job {self.job_id} on node {self.node}"


def slurm_grant(environment: Mapping[str, str]) -> SlurmGrant | None:
    """Return what Slurm granted our job; None outside one. Raises MissingEnvironment."""
    job_id = environment.get("SLURM_JOB_ID")
    if job_id is None:
        return None
    shown = ask_slurm("scontrol", "show", "job", "--details", job_id)
    return parse_grant(shown, environment)


def parse_grant(shown: str, environment: Mapping[str, str]) -> SlurmGrant:
    """Read ``scontrol show job --details``; no GPU type where Slurm names none."""
    matches = (re.search(pattern, shown, re.MULTILINE) for pattern in TYPED_GPU)
    typed = next(filter(None, matches), None)
    part = re.search(PART_OF_GPU, shown, re.MULTILINE)
    return SlurmGrant(
        job_id=environment["SLURM_JOB_ID"],
        node=environment.get("SLURMD_NODENAME") or _word(r"\bBatchHost=(\S+)", shown),
        partition=_word(r"\bPartition=(\S+)", shown),
        gpu_model=typed.group(1) if typed else "",
        gpu_count=int(typed.group(2)) if typed else 0,
        part_of_gpu=part.group(1) if part else None,
    )


def assert_grant(target: Target, gpu_type: str, grant: SlurmGrant) -> None:
    """A GPU job must have one whole GPU of the target's type. Raises CheckFailed."""
    if grant.part_of_gpu is not None:
        raise CheckFailed(
            f"job {grant.job_id} was given a part of a GPU (gres/{grant.part_of_gpu}), "
            "and figures are of whole ones"
        )
    if grant.gpu_model != gpu_type:
        raise CheckFailed(
            f"job {grant.job_id} was given GPU type '{grant.gpu_model or 'none'}', "
            f"but target {target.id} needs '{gpu_type}'"
        )
    if grant.gpu_count != 1:
        raise CheckFailed(f"job {grant.job_id} was given {grant.gpu_count} GPUs, not one")


def gpu_types() -> set[str]:
    """Return the GPU types of the cluster's nodes. Raises MissingEnvironment."""
    shown = ask_slurm("sinfo", "--noheader", "--Format=Gres:400")
    return {name for name, _ in SINFO_GPU.findall(shown)}


def ask_slurm(*command: str) -> str:
    """Return the answer of one of Slurm's commands. Raises MissingEnvironment."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=ASK_S
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        last = (getattr(error, "stderr", None) or "").strip().rpartition("\n")[2]
        raise MissingEnvironment(f"Slurm does not answer {command[0]}: {last or error}") from error


def _word(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found.group(1) if found else ""
