"""The node of a cluster's job: the GPU that it holds, and its bound on memory.

The driver is asked, not the scheduler: a node may be wired otherwise than Slurm believes.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.measuring.host_machine import ask_driver, find_host_driver, visible_gpus
from assay.records.platform import Target
from assay.shared.counting import counted

SETTLE_S = 10
"""Of patience with others: a process that just ended may be listed for some seconds."""
MPS_SHARE_VARIABLE = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
MPS_FOLDER_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
MPS_FOLDER = "/tmp/nvidia-mps"  # noqa: S108 - the daemon's own default
UNLIMITED = 1 << 60
"""Version 1 of control groups has a number of about this size where it has no limit."""


def held_gpu(
    target: Target, environ: Mapping[str, str], sleep: Callable[[float], None] = time.sleep
) -> str:
    """Return the UUID of the GPU that this job may use.

    Raises CheckFailed where it is not one whole GPU of the target with nobody else on it,
    MissingEnvironment where the driver does not answer.
    """
    ask_driver("--list-gpus")  # raises with its words, where it does not answer
    driver = find_host_driver()
    if driver is None:
        raise MissingEnvironment("the NVIDIA driver of this node does not answer")
    visible = visible_gpus(driver.gpus, environ)
    if len(visible) != 1:
        raise CheckFailed(f"this job sees {counted(len(visible), 'GPU')}, not one")
    (gpu,) = visible
    if not gpu.is_of(target):
        raise CheckFailed(
            f"the GPU of this job is {gpu.product}, but target {target.id} is {target.product}"
        )
    if gpu.mig:
        raise CheckFailed(f"{gpu.product} is cut into MIG slices, and figures are of whole GPUs")
    if MPS_SHARE_VARIABLE in environ:
        raise CheckFailed(f"{gpu.product} is shared through MPS: {MPS_SHARE_VARIABLE} is set")
    if _mps_daemon(Path(environ.get(MPS_FOLDER_VARIABLE) or MPS_FOLDER)):
        raise CheckFailed(f"{gpu.product} is shared through MPS: its daemon runs on this node")
    for _ in range(SETTLE_S):
        if not _processes(gpu.uuid):
            break
        sleep(1.0)
    if processes := _processes(gpu.uuid):
        raise CheckFailed(
            f"{gpu.product} ({gpu.uuid}) is shared: "
            f"{counted(processes, 'other process', 'other processes')} on it"
        )
    return gpu.uuid


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


def memory_limit(root: Path = Path("/")) -> int | None:
    """Return the lowest limit of our control group and all above it, in bytes; None without one."""
    found = []
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if controllers == "":
                top, name = root / "sys/fs/cgroup", "memory.max"
            elif "memory" in controllers.split(","):
                top, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
            else:
                continue
            below = Path(group.lstrip("/"))
            for folder in (below, *below.parents):
                with suppress(OSError, ValueError):  # absent, or "max"
                    found.append(int((top / folder / name).read_text()))
    return min((limit for limit in found if limit < UNLIMITED), default=None)
