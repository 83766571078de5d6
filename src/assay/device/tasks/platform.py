"""The Device record: one GPU and the software that drives it, read and never typed."""

import ctypes
import hashlib
import importlib
import importlib.metadata
import platform
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.device.worker.cuda import open_cuda
from assay.device.worker.forks import Note, run_child
from assay.device.worker.locks import OpenGpu
from assay.device.worker.telemetry import Choice, text
from assay.shared.errors import NoDevice
from assay.shared.job import PlatformJob
from assay.shared.specs import Json

DEADLINE_S = 120.0
COMPUTE_MODES = dict(enumerate(("default", "exclusive_thread", "prohibited", "exclusive_process")))
"""nvmlComputeMode_t, by value."""


def read_gpu(nvml: Any, choice: Choice, cuda: Json) -> Json:
    """Return the Gpu record, from NVML and from what ``cuda`` (see read_cuda) saw.

    The PCIe generation is the highest the link can take: an idle link reports a lower one.
    """
    handle = nvml.nvmlDeviceGetHandleByUUID(choice.uuid)

    def ask(what: str, *arguments: Any, as_: Callable[[Any], Any] = lambda value: value) -> Any:
        """What NVML says, or None where it refuses or these bindings lack the call."""
        try:
            found = getattr(nvml, f"nvmlDeviceGet{what}")(handle, *arguments)
        except (nvml.NVMLError, AttributeError):
            return None
        return as_(found)

    def watts(milliwatts: int) -> float:
        return milliwatts / 1000.0

    def first(modes: Any) -> bool:
        return bool(modes[0])

    sm, graphics, memory = nvml.NVML_CLOCK_SM, nvml.NVML_CLOCK_GRAPHICS, nvml.NVML_CLOCK_MEM
    return {
        "index": choice.index,
        "product": choice.product,
        "uuid": choice.uuid,
        "pci_bus_id": text(nvml.nvmlDeviceGetPciInfo(handle).busId),
        "compute_capability": cuda["compute_capability"],
        "vbios": ask("VbiosVersion", as_=text),
        "multiprocessors": cuda["multiprocessors"],
        "memory_bytes": int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
        "l2_bytes": cuda["l2_bytes"],
        "power_limit_w": ask("PowerManagementLimit", as_=watts),
        "power_limit_default_w": ask("PowerManagementDefaultLimit", as_=watts),
        "ecc": ask("EccMode", as_=first),
        "mig": ask("MigMode", as_=first),
        "persistence": ask("PersistenceMode", as_=bool),
        "compute_mode": ask("ComputeMode", as_=COMPUTE_MODES.get),
        "clock_sm_max_mhz": ask("MaxClockInfo", sm),
        "clock_memory_max_mhz": ask("MaxClockInfo", memory),
        "application_clock_sm_mhz": ask("ApplicationsClock", graphics),
        "application_clock_memory_mhz": ask("ApplicationsClock", memory),
        "pcie_generation": ask("MaxPcieLinkGeneration"),
        "pcie_width": ask("CurrPcieLinkWidth"),
    }


def is_compat(path: str | None, driver: str) -> bool:
    """Return whether a libcuda, by version or folder, is not the kernel driver's own."""
    if path is None:
        return False
    version = path.rsplit("libcuda.so.", maxsplit=1)[-1]
    if re.fullmatch(r"\d+\.\d+[\d.]*", version):
        return version != driver
    return "/compat/" in path


def dotted(version: int) -> str:
    """CUDA's 13000 as 13.0."""
    return f"{version // 1000}.{version % 1000 // 10}"


def read_cuda(choice: Choice, driver: str) -> Json:
    """Return what CUDA and PyTorch say; initialises CUDA, so it runs in a child."""
    properties = open_cuda(choice)
    torch = importlib.import_module("torch")
    number = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number))
    cudnn = torch.backends.cudnn.version()
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    libcuda = re.search(r"\S*/libcuda\.so\S*", maps)
    return {
        "compute_capability": f"{properties.major}.{properties.minor}",
        "multiprocessors": int(properties.multi_processor_count),
        "l2_bytes": int(properties.L2_cache_size),
        "cuda_driver": dotted(number.value),
        "cuda_runtime": str(torch.version.cuda),
        "compat_libcuda": is_compat(libcuda.group() if libcuda else None, driver),
        "cudnn": None if cudnn is None else str(cudnn),
    }


def _package(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def nsight_compute() -> str | None:
    """Return the version of the ncu on PATH, or None."""
    try:
        result = subprocess.run(
            ["ncu", "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"Version (\S+)", result.stdout)
    return found.group(1) if found else None


def packages_digest() -> str:
    """Return the SHA-256 of the names and versions of all packages that this Python has."""
    every = {f"{each.name}=={each.version}" for each in importlib.metadata.distributions()}
    return hashlib.sha256("\n".join(sorted(every)).encode()).hexdigest()


def run_platform(_job: PlatformJob, gpu: OpenGpu) -> Json:
    """Return the Device record. Raises NoDevice when CUDA does not work here."""
    nvml, choice = gpu.nvml, gpu.choice
    driver = text(nvml.nvmlSystemGetDriverVersion())

    def work(_note: Note) -> Json:
        return read_cuda(choice, driver)

    outcome = run_child(work, DEADLINE_S)
    if outcome.value is None:
        raise NoDevice(f"PyTorch cannot use {choice.product}: {outcome.error}")
    cuda = outcome.value
    return {
        "schema": "assay/device/1",
        "gpu": read_gpu(nvml, choice, cuda),
        "driver": driver,
        "cuda_driver": cuda["cuda_driver"],
        "cuda_runtime": cuda["cuda_runtime"],
        "compat_libcuda": cuda["compat_libcuda"],
        "torch": _package("torch") or "unknown",
        "cudnn": cuda["cudnn"],
        "triton": _package("triton") or _package("pytorch-triton"),
        "python": platform.python_version(),
        "nsight_compute": nsight_compute(),
        "packages_sha256": packages_digest(),
    }
