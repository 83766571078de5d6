"""The host's processors that lie next to each GPU, as its kernel tells."""

import os
from collections.abc import Iterable
from pathlib import Path

from assay.measuring.gpu_schedule import share_cores
from assay.records.platform import Gpu

PCI = Path("/sys/bus/pci/devices")
ADDRESS = 12
"""Characters of a PCI address as the kernel writes it; NVML's domain has four digits more."""


def cores_of_gpus(gpus: Iterable[Gpu], devices: Path = PCI) -> dict[str, tuple[int, ...]]:
    """Return the processors that the jobs of each GPU keep to, by its UUID."""
    near = {gpu.uuid: _near(devices / gpu.pci_bus_id.lower()[-ADDRESS:]) for gpu in gpus}
    return share_cores(os.sched_getaffinity(0), near)


def _near(device: Path) -> frozenset[int]:
    """Return the processors of a device's memory node; none where the kernel does not say."""
    try:
        text = (device / "local_cpulist").read_text(encoding="ascii")
        return frozenset(_numbers(text))
    except (OSError, ValueError):
        return frozenset()


def _numbers(text: str) -> Iterable[int]:
    """Yield the numbers of a list as ``0-3,8``. Raises ValueError for another text."""
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
