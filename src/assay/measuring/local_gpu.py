"""A target's GPU on this machine, or why it cannot be measured on: a code and a sentence."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.base.isolation import python_variables
from assay.building.toolchain import DRIVER_API
from assay.measuring.device_jobs import probe_device
from assay.measuring.host_machine import (
    NO_DRIVER,
    HostDriver,
    HostGpu,
    phrase,
    remedy_of_old_driver,
)
from assay.records.evaluations import NotRun
from assay.records.images import RuntimeName
from assay.records.platform import Target
from assay.runtimes.base import Place, Task
from assay.runtimes.host import HostRuntime
from assay.shared.counting import agreeing

PACKAGES = {"PyTorch": "torch", "nvidia-ml-py": "pynvml"}
"""What the device's Python needs, and the module by which it is known."""
ANSWER = "lacks:"
QUESTION = (
    "import importlib.util as u;"
    f"print({ANSWER!r}, *(n for n, m in {PACKAGES!r}.items() if u.find_spec(m) is None))"
)


@dataclass(frozen=True)
class Absence:
    """The reason why nothing can be measured on a target here."""

    reason: NotRun
    detail: str
    """A clause, the same for all targets that lack the same."""
    remedy: str = ""
    """What helps, where something does but another machine."""

    def __str__(self) -> str:
        """Return both."""
        return f"{self.detail}: {self.remedy}" if self.remedy else self.detail


def find_gpu(
    target: Target,
    driver: HostDriver | None,
    runtime: RuntimeName,
    python: str,
    packages: Sequence[Path] = (),
) -> HostGpu | Absence:
    """Return the first visible GPU of ``target``, or its absence. On the host the device's Python,
    which looks into ``packages`` first, decides; of a container, not there yet, the driver must.
    """
    if runtime != "host":
        gpus = driver.gpus_of(target, os.environ) if driver else ()
        if driver is None or not gpus or driver.too_old:
            return _absence(target, driver) or _no_gpu(target, "nvidia-smi lists none")
        return gpus[0]
    if driver is not None and driver.gpu_of(target) is None:
        return _other_gpus(target, driver)  # no Python is started to hear the same
    place = Place(HostRuntime(), python=python, packages=tuple(packages))
    try:
        device = probe_device(place, target)
    except MissingEnvironment as error:
        return (
            _absence(target, driver)
            or lacking_packages(python, packages)
            or _no_gpu(target, str(error).rstrip("."))
        )
    major, _, minor = device.cuda_driver.partition(".")
    readable = (major + minor).isdigit()  # what cannot be read is not too old
    if readable and 1000 * int(major) + 10 * int(minor) < DRIVER_API:  # 13.0 is 13000 there
        return _too_old(device.gpu.product, phrase(device.driver, device.cuda_driver))
    return HostGpu(device.gpu.product, device.gpu.uuid)


def lacking_packages(python: str, packages: Sequence[Path] = ()) -> Absence | None:
    """Return what a Python, with ``packages`` before its own, lacks to measure."""
    lines: list[str] = []
    task = Task(
        command=(python, "-c", QUESTION),
        directory=Path("/"),
        label="ask the device's Python for its packages",
        environment=python_variables(packages),
        inherit=True,
    )
    other = "name another with --device-python"
    try:
        HostRuntime().run(task, None, lines.append)
    except MissingEnvironment as error:
        return Absence(NotRun.NO_DEVICE, str(error), other)
    words = next((line.split() for line in lines if line.startswith(ANSWER)), None)
    if words is None:
        last = lines[-1].strip() if lines else "nothing"
        return Absence(NotRun.NO_DEVICE, f"{python} says of its packages: {last}", other)
    missing = words[1:]
    if not missing:
        return None
    detail = f"the device's Python ({python}) lacks {' and '.join(missing)}"
    them = agreeing(len(missing), "it", "them")
    has = (
        f"name one that has {them} with --device-python, or a directory that has {them} with "
        "--device-path"
    )
    return Absence(NotRun.NO_DEVICE, detail, has)


def _absence(target: Target, driver: HostDriver | None) -> Absence | None:
    """Return what the driver alone tells; None where it has nothing against the target."""
    if driver is None:
        return Absence(NotRun.NO_DEVICE, NO_DRIVER)
    gpu = driver.gpu_of(target)
    if gpu is None:
        return _other_gpus(target, driver)
    if driver.too_old:
        return _too_old(gpu.product, str(driver))
    return None


def _other_gpus(target: Target, driver: HostDriver) -> Absence:
    others = ", ".join(dict.fromkeys(gpu.product for gpu in driver.gpus))
    return _no_gpu(target, f"this machine has {others}")


def _no_gpu(target: Target, why: str) -> Absence:
    return Absence(NotRun.NO_DEVICE, f"no {target.product} here ({why})")


def _too_old(product: str, driver: str) -> Absence:
    detail = f"{product} cannot be measured on, for its {driver} is too old"
    return Absence(NotRun.DRIVER_TOO_OLD, detail, remedy_of_old_driver())
