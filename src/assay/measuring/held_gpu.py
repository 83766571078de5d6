"""The GPU that a job of a cluster holds: one, the target's, whole, and nobody else's.

The driver is asked, not the scheduler: a node may be wired or described otherwise than Slurm
believes. What the device side looks at again under its lock (``device.worker``) holds on top.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.measuring.host_driver import ask_driver, find_host_driver, visible_gpus
from assay.measuring.slurm_grant import GpuRefused
from assay.records.slurm_jobs import HeldGpu
from assay.records.targets import Target
from assay.shared.counting import counted

SETTLE_S = 10
"""Of patience with others: a process that just ended may be listed for some seconds."""
MPS_SHARE_VARIABLE = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
MPS_FOLDER_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
MPS_FOLDER = "/tmp/nvidia-mps"  # noqa: S108 - the daemon's own default


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
    ask_driver("--list-gpus")  # raises with its words, where it does not answer
    driver = find_host_driver()
    if driver is None or not driver.gpus:
        raise MissingEnvironment("the NVIDIA driver of this node does not answer")
    visible = visible_gpus(driver.gpus, environ)
    if len(visible) != 1:
        raise GpuRefused(f"this job sees {counted(len(visible), 'GPU')}, not one")
    (gpu,) = visible
    if not gpu.is_of(target):
        raise GpuRefused(
            f"the GPU of this job is {gpu.product}, but target {target.id} is {target.product}"
        )
    if gpu.mig:
        raise GpuRefused(f"{gpu.product} is cut into MIG slices, and figures are of whole GPUs")
    if MPS_SHARE_VARIABLE in environ:
        raise GpuRefused(f"{gpu.product} is shared through MPS: {MPS_SHARE_VARIABLE} is set")
    if _mps_daemon(Path(environ.get(MPS_FOLDER_VARIABLE) or MPS_FOLDER)):
        raise GpuRefused(f"{gpu.product} is shared through MPS: its daemon runs on this node")
    for _ in range(SETTLE_S):
        if not _processes(gpu.uuid):
            break
        sleep(1.0)
    if processes := _processes(gpu.uuid):
        raise GpuRefused(
            f"{gpu.product} ({gpu.uuid}) is shared: "
            f"{counted(processes, 'other process', 'other processes')} on it"
        )
    return HeldGpu(
        index=driver.gpus.index(gpu) if index is None else index,
        product=gpu.product,
        uuid=gpu.uuid,
        driver=driver.release or "unknown",
    )


def _mps_daemon(folder: Path) -> bool:
    """Return whether an MPS daemon lives that says so in its folder."""
    try:
        pid = int((folder / "nvidia-cuda-mps-control.pid").read_text())
    except (OSError, ValueError):
        return False
    return Path(f"/proc/{pid}").exists()


def _processes(uuid: str) -> int:
    """Return how many processes compute on a GPU."""
    rows = ask_driver("--query-compute-apps=gpu_uuid,pid").splitlines()
    return sum(row.split(",")[0].strip() == uuid for row in rows)
