"""The GPU that a job of a cluster holds: one, the target's, whole, and nobody else's.

The driver is asked, not the scheduler: a node may be wired or described otherwise than Slurm
believes. What the device side looks at again under its lock (``device.worker``) holds on top.
"""

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.measuring.host_driver import HostGpu
from assay.measuring.slurm_grant import GpuRefused
from assay.records.slurm_jobs import HeldGpu
from assay.records.targets import Target
from assay.shared.counting import counted

ASK_S = 60
SETTLE_S = 10.0
"""A process that just ended may be listed for some seconds."""
SETTLE_POLL_S = 1.0
MPS_FOLDER = Path("/tmp/nvidia-mps")  # noqa: S108 - the daemon's own default
MPS_FOLDER_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
MPS_SHARE_VARIABLE = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"


@dataclass(frozen=True)
class ListedGpu:
    """A line of nvidia-smi."""

    index: str
    gpu: HostGpu
    driver: str
    mig: bool


def held_gpu(
    target: Target,
    environ: Mapping[str, str],
    index: int | None,
    sleep: Callable[[float], None] = time.sleep,
) -> HeldGpu:
    """Return the GPU that this job may use; ``index`` is Slurm's, where it says one.

    Raises GpuRefused where it is not one whole GPU of the target with nobody else on it,
    MissingEnvironment where the driver does not answer.
    """
    found = _visible(_listed(), environ.get("CUDA_VISIBLE_DEVICES"))
    if not found.gpu.is_of(target):
        raise GpuRefused(
            f"the GPU of this job is {found.gpu.product}, but target {target.id} is "
            f"{target.product}"
        )
    if found.mig:
        raise GpuRefused(
            f"{found.gpu.product} is cut into MIG slices, and figures are of whole GPUs"
        )
    if (how := _mps(environ)) is not None:
        raise GpuRefused(f"{found.gpu.product} is shared through MPS: {how}")
    _require_alone(found.gpu, sleep)
    return HeldGpu(
        index=int(found.index) if index is None else index,
        product=found.gpu.product,
        uuid=found.gpu.uuid,
        driver=found.driver,
    )


def _visible(listed: Sequence[ListedGpu], wanted: str | None) -> ListedGpu:
    """Return the one GPU that CUDA would see."""
    if wanted is None:
        if len(listed) != 1:
            raise GpuRefused(
                f"this job sees {counted(len(listed), 'GPU')}, and nothing says which is its own"
            )
        return listed[0]
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    if len(names) != 1:
        raise GpuRefused(f"this job was given {counted(len(names), 'GPU')}, not one")
    name = names[0]
    if name.startswith("MIG"):
        raise GpuRefused(f"this job was given a MIG slice ({name}), and figures are of whole GPUs")
    for each in listed:
        if name == each.index or (name.startswith("GPU-") and each.gpu.uuid.startswith(name)):
            return each
    raise GpuRefused(f"this job was given GPU {name}, which the driver does not list")


def _listed() -> list[ListedGpu]:
    columns = "index,uuid,driver_version,mig.mode.current,name"
    rows = [row.split(",", 4) for row in _smi(f"--query-gpu={columns}").splitlines()]
    return [
        ListedGpu(
            index=row[0].strip(),
            gpu=HostGpu(product=row[4].strip(), uuid=row[1].strip()),
            driver=row[2].strip(),
            mig=row[3].strip() == "Enabled",
        )
        for row in rows
        if len(row) == len(columns.split(","))
    ]


def _mps(environ: Mapping[str, str]) -> str | None:
    """Return what shows that kernels of several processes share the GPU, or None."""
    if MPS_SHARE_VARIABLE in environ:
        return f"{MPS_SHARE_VARIABLE} is set"
    folder = Path(environ.get(MPS_FOLDER_VARIABLE) or MPS_FOLDER)
    with suppress(OSError, ValueError):
        daemon = int((folder / "nvidia-cuda-mps-control.pid").read_text())
        if Path(f"/proc/{daemon}").exists():
            return "its daemon runs on this node"
    return None


def _require_alone(gpu: HostGpu, sleep: Callable[[float], None]) -> None:
    """Raise GpuRefused where another process computes on the GPU, and goes on doing so."""
    waited = 0.0
    while processes := _processes(gpu.uuid):
        if waited >= SETTLE_S:
            raise GpuRefused(
                f"{gpu.product} ({gpu.uuid}) is shared: "
                f"{counted(processes, 'other process', 'other processes')} on it"
            )
        sleep(SETTLE_POLL_S)
        waited += SETTLE_POLL_S


def _processes(uuid: str) -> int:
    rows = _smi("--query-compute-apps=gpu_uuid,pid").splitlines()
    return sum(row.split(",")[0].strip() == uuid for row in rows)


def _smi(query: str) -> str:
    """Return the answer of nvidia-smi. Raises MissingEnvironment."""
    try:
        return subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader"],
            capture_output=True, text=True, check=True, timeout=ASK_S, env=dict(os.environ),
        ).stdout  # fmt: skip
    except subprocess.CalledProcessError as error:
        words = (error.stdout + error.stderr).strip().partition("\n")[0]
        raise MissingEnvironment(
            f"the NVIDIA driver of this node does not answer: {words or error}"
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingEnvironment(
            f"the NVIDIA driver of this node does not answer: {error}"
        ) from error
