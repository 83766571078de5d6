"""This machine: its NVIDIA driver and GPUs, and the host's half of the platform record."""

import ctypes
import datetime as dt
import importlib.metadata
import os
import platform
import re
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.building.toolchain import DRIVER_API, OLDEST_DRIVER
from assay.records.plan import Request
from assay.records.platform import Device, PackageDirectory, PlatformRecord, Target
from assay.shared.files import sha256_bytes

ASK_S = 60
"""Seconds that nvidia-smi may take over an answer."""
COLUMNS = "index,uuid,driver_version,mig.mode.current,name"
NO_DRIVER = "no NVIDIA driver here"


@dataclass(frozen=True)
class HostGpu:
    """A GPU as the driver names it."""

    product: str
    uuid: str
    mig: bool = False
    """Whether it is cut into slices."""

    def __str__(self) -> str:
        return f"{self.product} ({self.uuid})"

    def is_of(self, target: Target) -> bool:
        """Return whether it is the product that the target asks for."""
        return re.fullmatch(target.product_pattern, self.product) is not None


@dataclass(frozen=True)
class HostDriver:
    """A driver that answers."""

    release: str
    """Of the kernel module, as 580.65.06."""
    cuda: int | None
    """Newest CUDA that libcuda offers, as 13000; None where it does not say."""
    gpus: tuple[HostGpu, ...]

    def __str__(self) -> str:
        """Return both versions in a phrase."""
        return phrase(self.release, dotted(self.cuda)) if self.cuda else f"driver {self.release}"

    @property
    def too_old(self) -> bool:
        """Return whether binaries of this toolchain do not start here."""
        return self.cuda is not None and self.cuda < DRIVER_API

    def gpu_of(self, target: Target) -> HostGpu | None:
        """Return the first GPU that is the target's product."""
        return next((gpu for gpu in self.gpus if gpu.is_of(target)), None)

    def gpus_of(self, target: Target, environment: Mapping[str, str]) -> tuple[HostGpu, ...]:
        """Return the target's GPUs that CUDA_VISIBLE_DEVICES leaves, in its order."""
        return tuple(gpu for gpu in visible_gpus(self.gpus, environment) if gpu.is_of(target))


def visible_gpus(gpus: tuple[HostGpu, ...], environment: Mapping[str, str]) -> tuple[HostGpu, ...]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES leaves, in its order."""
    wanted = environment.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return gpus
    names = [name.strip() for name in wanted.split(",")]
    return tuple(
        gpu
        for name in names
        for index, gpu in enumerate(gpus)
        if name == str(index) or (name.startswith("GPU-") and gpu.uuid.startswith(name))
    )


def remedy_of_old_driver() -> str:
    """Return what makes an old driver do, as a clause."""
    cuda = dotted(DRIVER_API)
    return (
        f"CUDA {cuda} needs driver {OLDEST_DRIVER} or newer: install one, or NVIDIA's package "
        f"cuda-compat-{cuda.replace('.', '-')} with its folder in LD_LIBRARY_PATH"
    )


def phrase(release: str, cuda: str) -> str:
    """Return a driver's two versions, as ``driver 580.65.06 with CUDA 13.0``."""
    return f"driver {release} with CUDA {cuda}"


def dotted(version: int) -> str:
    """Return CUDA's 13000 as 13.0."""
    return f"{version // 1000}.{version % 1000 // 10}"


def find_host_driver() -> HostDriver | None:
    """Ask this machine for its driver; None where nvidia-smi lists no GPU."""
    try:
        rows = [row.split(",", 4) for row in ask_driver(f"--query-gpu={COLUMNS}").splitlines()]
    except MissingEnvironment:
        return None
    rows = [[word.strip() for word in row] for row in rows if len(row) == COLUMNS.count(",") + 1]
    gpus = tuple(HostGpu(name, uuid, mig == "Enabled") for _, uuid, _, mig, name in rows)
    return HostDriver(rows[0][2], _cuda_of_libcuda(), gpus) if rows else None


def ask_driver(query: str) -> str:
    """Return the answer of nvidia-smi. Raises MissingEnvironment."""
    try:
        return subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader"],
            capture_output=True, text=True, check=True, timeout=ASK_S,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stdout", None) or "").strip().partition("\n")[0]
        raise MissingEnvironment(
            f"the NVIDIA driver of this node does not answer: {said or error}"
        ) from error


def _cuda_of_libcuda() -> int | None:
    """Return what cuDriverGetVersion says, for which no GPU wakes; None without libcuda."""
    number = ctypes.c_int()
    try:
        answer = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return number.value if answer == 0 and number.value else None


def now() -> str:
    """Return the time that a record bears."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


PACKAGES = ("snakemake", "pydantic", "numpy", "scipy", "pandas", "securesystemslib")


def record_platform(
    request: Request, target: Target, device: Device, image_id: str | None, salt: str = ""
) -> PlatformRecord:
    """Return the record of this machine and its GPU. ``salt`` stands before a digested name."""
    return PlatformRecord(
        schema="assay/platform/1",
        target=target.id,
        recorded_at=now(),
        hostname_sha256=sha256_bytes(f"{salt}{socket.gethostname()}".encode()),
        cpu=_first(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo")) or platform.processor(),
        cores=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=platform.release(),
        distribution=_first(r'PRETTY_NAME="?([^"\n]+)', Path("/etc/os-release")) or "unknown",
        runtime=request.runtime,
        image_digest=image_id,
        device=device,
        allocation=None,
        commit=request.commit,
        clean_tree=request.clean_tree,
        packages={name: importlib.metadata.version(name) for name in PACKAGES},
        device_paths=tuple(map(packages_in, map(Path, request.device_paths))),
    )


def same_machine(earlier: PlatformRecord, now: PlatformRecord) -> bool:
    """Return whether two starts of a run agree in GPU, software and all else of the machine."""

    def machine(record: PlatformRecord) -> tuple[object, ...]:
        own = {"recorded_at": "", "device": None, "allocation": None}
        device = record.device.model_copy(update={"gpu": None})
        return record.model_copy(update=own), device, record.device.gpu.uuid

    return machine(earlier) == machine(now)


def packages_in(path: Path) -> PackageDirectory:
    """Return a directory of packages with each one's version; of broken ones nothing is told."""
    every = (each.metadata for each in importlib.metadata.distributions(path=[str(path)]))
    found = {of["Name"]: of["Version"] for of in every if of["Name"] and of["Version"]}
    return PackageDirectory(path=str(path), packages=dict(sorted(found.items())))


def _first(pattern: str, path: Path) -> str | None:
    try:
        found = re.search(pattern, path.read_text())
    except OSError:
        return None
    return found.group(1).strip() if found else None
