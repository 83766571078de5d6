"""The bounds of this process, as its control groups set them: processors, memory, GPU devices."""

import os
from contextlib import suppress
from pathlib import Path

from assay.records.slurm_jobs import CgroupLimits

UNLIMITED = 1 << 60
"""Version 1 has a number of about this size where it has no limit."""


def cgroup_limits(root: Path = Path("/")) -> CgroupLimits:
    """Return the limits that hold for this process, as seen below ``root``.

    A version 2 group has no list of its devices: what may be opened tells.
    """
    gpus = []
    for path in sorted((root / "dev").glob("nvidia[0-9]*")):
        with suppress(OSError):
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
            gpus.append(str(path))
    return CgroupLimits(
        cpus=tuple(sorted(os.sched_getaffinity(0))),
        memory_bytes=_memory_limit(root),
        gpu_devices=tuple(gpus),
    )


def _memory_limit(root: Path) -> int | None:
    """Return the lowest limit of this process's group and of every group above it."""
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
