"""The bounds of this process, as its control groups set them: processors, memory, GPU devices."""

import os
from collections.abc import Iterator
from pathlib import Path

from assay.records.slurm_jobs import CgroupLimits

UNLIMITED = 1 << 60
"""Version 1 has a number of about this size where it has no limit."""


def cgroup_limits(root: Path = Path("/")) -> CgroupLimits:
    """Return the limits that hold for this process, as seen below ``root``.

    A version 2 group has no list of its devices: what may be opened tells.
    """
    limits = [limit for path in _memory_files(root) if (limit := _number(path)) is not None]
    return CgroupLimits(
        cpus=tuple(sorted(os.sched_getaffinity(0))),
        memory_bytes=min(limits, default=None),
        gpu_devices=tuple(
            str(path) for path in sorted((root / "dev").glob("nvidia[0-9]*")) if _opens(path)
        ),
    )


def _memory_files(root: Path) -> Iterator[Path]:
    """Yield the limit of this process's group and of every group above it."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            top, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            top, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        below = Path(group.lstrip("/"))
        yield from (top / folder / name for folder in (below, *below.parents))


def _number(path: Path) -> int | None:
    """Return a limit; None where there is none."""
    try:
        number = int(path.read_text())
    except (OSError, ValueError):  # absent, or "max"
        return None
    return number if number < UNLIMITED else None


def _opens(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return False
    return True
