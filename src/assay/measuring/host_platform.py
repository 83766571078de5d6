"""The host's half of the platform record: read from the machine, never typed."""

import datetime as dt
import hashlib
import importlib.metadata
import os
import platform
import re
import socket
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.records.plan import Request
from assay.records.platform import Allocation, Device, PackageDirectory, PlatformRecord
from assay.records.targets import Target

PACKAGES = ("snakemake", "pydantic", "numpy", "scipy", "pandas", "securesystemslib")
TYPED_GPU = (
    r"^\s*JOB_GRES=(?:\S*,)?gpu:([\w.-]+):(\d+)",
    r"^\s*(?:Alloc)?TRES=\S*\bgres/gpu:([\w.-]+)=(\d+)",
    r"^\s*TresPer(?:Job|Node)=\S*\bgres[/:]gpu:([\w.-]+)[:=](\d+)",
)
"""Where Slurm names a job's GPUs: what it granted, then what it accounts for (typed only where the
site tracks types), then what was asked for."""


def record_platform(
    request: Request, target: Target, device: Device, image_id: str | None
) -> PlatformRecord:
    """Return the platform record of this machine and its GPU; ``image_id`` is that of the
    container.
    """
    return PlatformRecord(
        schema="assay/platform/1",
        target=target.id,
        recorded_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        hostname_sha256=hashlib.sha256(socket.gethostname().encode()).hexdigest(),
        cpu=_first(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo")) or platform.processor(),
        cores=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=platform.release(),
        distribution=_first(r'PRETTY_NAME="?([^"\n]+)', Path("/etc/os-release")) or "unknown",
        runtime=request.runtime,
        image_digest=image_id,
        device=device,
        allocation=slurm_allocation(os.environ),
        commit=request.commit,
        clean_tree=request.clean_tree,
        packages={name: importlib.metadata.version(name) for name in PACKAGES},
        device_paths=package_directories(map(Path, request.device_paths)),
    )


def package_directories(paths: Iterable[Path]) -> tuple[PackageDirectory, ...]:
    """Return directories of packages with what lies in each."""
    return tuple(PackageDirectory(path=str(path), packages=_versions(path)) for path in paths)


def _versions(path: Path) -> dict[str, str]:
    """Return the version of each distribution in a directory; of broken ones nothing is told."""
    found = {}
    for distribution in importlib.metadata.distributions(path=[str(path)]):
        about = distribution.metadata
        if about["Name"] and about["Version"]:
            found[about["Name"]] = about["Version"]
    return dict(sorted(found.items()))


def _first(pattern: str, path: Path) -> str | None:
    try:
        found = re.search(pattern, path.read_text())
    except OSError:
        return None
    return found.group(1).strip() if found else None


def slurm_allocation(environment: Mapping[str, str]) -> Allocation | None:
    """Return what Slurm granted the job we run in; None outside one. Raises MissingEnvironment when
    Slurm
    does not answer."""
    job_id = environment.get("SLURM_JOB_ID")
    if job_id is None:
        return None
    try:
        shown = subprocess.run(
            ["scontrol", "show", "job", "--details", job_id],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingEnvironment(f"Slurm does not describe job {job_id}: {error}") from error
    return parse_allocation(shown, environment)


def parse_allocation(shown: str, environment: Mapping[str, str]) -> Allocation:
    """Read ``scontrol show job --details``; no GPU type where Slurm names none."""
    matches = (re.search(pattern, shown, re.MULTILINE) for pattern in TYPED_GPU)
    typed = next((match for match in matches if match), None)
    node = environment.get("SLURMD_NODENAME") or _word(r"\bBatchHost=(\S+)", shown)
    return Allocation(
        scheduler="slurm",
        job_id=environment["SLURM_JOB_ID"],
        node=node,
        partition=_word(r"\bPartition=(\S+)", shown),
        gpu_model=typed.group(1) if typed else "",
        gpu_count=int(typed.group(2)) if typed else 0,
    )


def _word(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found.group(1) if found else ""


def assert_allocation(target: Target, allocation: Allocation | None) -> None:
    """A GPU job must run where its target is. Raises CheckFailed by name."""
    if allocation is not None and allocation.gpu_model != target.gpu_model:
        raise CheckFailed(
            f"job {allocation.job_id} on node {allocation.node} was given GPU type "
            f"'{allocation.gpu_model or 'none'}', but target {target.id} needs "
            f"'{target.gpu_model}'"
        )
