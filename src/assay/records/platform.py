"""GPU products that a run asks for, and the machines that it found."""

import re
from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from assay.records.base import Identifier, Moment, Record, Sha256, SlurmName

PATTERN = re.compile(r"(?:[A-Za-z0-9 ._/|<>,:&'-]|\[[A-Za-z0-9-]+\]|\.\*)+")
MOST_STARS = 2
PTX = "compute_"
"""Begins the architecture of a target whose driver compiles PTX: compute_89."""


def is_for(archs: Collection[str], arch: str) -> bool:
    """Return whether what is built for ``archs`` is built for ``arch``, too: what is machine code
    for sm_89 is PTX for compute_89.
    """
    return arch.replace(PTX, "sm_") in archs


def _architecture(text: str) -> str:
    if re.fullmatch(rf"(?:sm_|{PTX})[0-9]{{2,3}}[af]?", text) is None:
        raise ValueError(f"'{text}' is no architecture, such as sm_89, sm_90a or compute_89")
    return text


def _regular(text: str) -> str:
    """Return a regular expression that takes no time, whatever it is matched with."""
    if PATTERN.fullmatch(text) is None or text.count("*") > MOST_STARS:
        raise ValueError(
            f"'{text}' is no pattern of a product: letters, digits, spaces, . - / _ and |, "
            f"characters in brackets, and .* at most {MOST_STARS} times"
        )
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"'{text}' is no regular expression: {error}") from error
    return text


class Peaks(Record):
    """Datasheet limits, dense, without sparsity acceleration."""

    fp16_tensor_tflop_per_s: Annotated[float, Field(gt=0)]
    fp8_tensor_tflop_per_s: Annotated[float, Field(gt=0)] | None = None
    """None for a GPU without FP8 tensor cores, which multiplies FP8 operands as fp16 at best."""
    fp32_tflop_per_s: Annotated[float, Field(gt=0)]
    memory_gb_per_s: Annotated[float, Field(gt=0)]
    source: str
    """Document that states them."""


class Target(Record):
    """``config/targets/<id>.yaml``."""

    schema_: Literal["assay/target/1"] = Field(alias="schema")
    id: Identifier
    product: str
    product_pattern: Annotated[str, StringConstraints(max_length=200), AfterValidator(_regular)]
    """Regular expression that NVML's product name must match in full."""
    arch: Annotated[Identifier, AfterValidator(_architecture)]
    """Architecture key of the builds this target runs: sm_80, sm_89 or sm_90a; compute_89 where its
    driver compiles another GPU's PTX, which shows what it computes, and of its speed nothing."""
    compute_capability: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]$")]
    gpu_model: SlurmName
    """Slurm's typed-GPU name (``gres=gpu:<gpu_model>``) and Snakemake's gpu_model resource."""
    slurm_partition: SlurmName
    multiprocessors: Annotated[int, Field(gt=0)]
    l2_bytes: Annotated[int, Field(gt=0)]
    max_shared_bytes_per_block: Annotated[int, Field(gt=0)]
    power_limit_w: Annotated[float, Field(gt=0)]
    peaks: Peaks

    @property
    def timed(self) -> bool:
        """Return whether times taken there are those of the architecture that was built for."""
        return not self.arch.startswith(PTX)


class Gpu(Record):
    """One GPU as NVML and CUDA report it; None where the driver does not say."""

    index: int
    product: str
    uuid: str
    pci_bus_id: str
    compute_capability: str
    vbios: str | None
    multiprocessors: int
    memory_bytes: int
    l2_bytes: int
    power_limit_w: float | None
    power_limit_default_w: float | None
    ecc: bool | None
    mig: bool | None
    persistence: bool | None
    compute_mode: str | None
    clock_sm_max_mhz: int | None
    clock_memory_max_mhz: int | None
    application_clock_sm_mhz: int | None
    application_clock_memory_mhz: int | None
    pcie_generation: int | None
    pcie_width: int | None


class Allocation(Record):
    """The grant of a scheduler to the job; None outside one."""

    scheduler: Literal["slurm"]
    job_id: str
    node: str
    """The beginning of a salted digest of its name."""
    partition: str
    gpu_model: str
    """Type in the job's GRES request, as the scheduler granted it."""
    gpu_count: int


class Device(Record):
    """The device side of a platform, written by the device worker."""

    schema_: Literal["assay/device/1"] = Field(alias="schema")
    gpu: Gpu
    driver: str
    cuda_driver: str
    cuda_runtime: str
    compat_libcuda: bool
    """True when the loaded libcuda is not the kernel driver's own."""
    torch: str
    cudnn: str | None
    triton: str | None
    python: str
    nsight_compute: str | None
    peers: tuple[str, ...] = ()
    """UUIDs of other GPUs of the target's product, which earlier versions measured on, too."""
    packages_sha256: Sha256 | None = None
    """Of the names and versions of all packages of the device's Python; None: not recorded."""


class PackageDirectory(Record):
    """A directory that --device-path named: a Python looks there before its own."""

    path: str
    packages: dict[str, str]
    """Version of each distribution that lay there, by its name."""


class PlatformRecord(Record):
    """Host, device, toolchain-independent software, scheduler and pipeline state."""

    schema_: Literal["assay/platform/1"] = Field(alias="schema")
    target: str
    recorded_at: Moment
    """UTC, ISO 8601."""
    hostname_sha256: str
    """Digest of the host name: tells machines apart without publishing their names. Of a cluster's
    node a salt stands before it, which the run keeps to itself."""
    cpu: str
    cores: int
    memory_bytes: int
    kernel: str
    distribution: str
    runtime: str
    """Container runtime, or ``host``."""
    image_digest: str | None
    device: Device
    allocation: Allocation | None
    """Of the job that recorded this."""
    commit: str | None
    """Commit of this repository, from git or from the caller (ASSAY_COMMIT)."""
    clean_tree: bool | None
    packages: dict[str, str]
    """Versions of the host environment's main packages."""
    device_paths: tuple[PackageDirectory, ...] | None = None
    """Where the device's Python looked for packages before its own; None: not recorded."""
    others: tuple[Device, ...] = ()
    """Other GPUs of the machine that earlier versions measured on, too."""
