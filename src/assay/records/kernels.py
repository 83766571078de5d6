"""What can be compiled: kernel variants, original programs, support probes."""

from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import Identifier, Record
from assay.records.workloads import Operation

Arch = Literal["sm_89", "sm_90a"]


class Variant(Record):
    """One implementation of an operation."""

    id: Identifier
    operation: Operation
    title: str
    kind: Literal["kernel", "library"]
    """``kernel``: compiled from this repository; ``library``: called through the device side."""
    source: str | None = None
    """File beside kernel.yaml, for kernels."""
    symbol: str | None = None
    """The extern "C" launcher."""
    abi: Literal["bsr_gemm", "bsr_bsr_gemm", "tma_load"] | None = None
    """Argument list of the launcher, as the operation's README.md fixes it."""
    archs: tuple[Arch, ...] = ()
    defines: dict[str, int] = {}
    flags: tuple[str, ...] = ()
    """Further nvcc flags, for example the source's --use_fast_math."""
    entry: str | None = None
    """Name in assay.device.kernels.baselines, for libraries."""
    artifact: Literal["original", "reimplemented"]
    built_from: str
    """The statements a kernel was rebuilt from, or the library it calls."""


class OriginalProgram(Record):
    """An author's own program, compiled from a pinned package."""

    id: Identifier
    title: str
    package: str
    source: str
    """Path of the .cu inside the package."""
    archs: Annotated[tuple[Arch, ...], Field(min_length=1)]
    flags: tuple[str, ...]
    includes: tuple[str, ...]
    """Include directories inside the package."""
    parser: Literal["cutlass_41", "cutlass_57", "cutlass_88"]


class Probe(Record):
    """A few lines of CUDA that need one hardware feature."""

    id: Identifier
    title: str
    source: str
    flags: tuple[str, ...] = ()


class OperatorKernel(Record):
    """A compiled variant that torch.ops.assay may call, and the one case it is for."""

    variant: Identifier
    """Its operation is the operator's name."""
    dtype: Literal["float16", "bfloat16", "float8_e4m3"]
    block: tuple[Annotated[int, Field(gt=0)], Annotated[int, Field(gt=0)]]
    """Rows and columns of a stored block of A."""
    block_b: tuple[Annotated[int, Field(gt=0)], Annotated[int, Field(gt=0)]] | None = None
    """Of a sparse B."""


class KernelManifest(Record):
    """``kernels/<folder>/kernel.yaml``."""

    schema_: Literal["assay/kernels/1"] = Field(alias="schema")
    variants: tuple[Variant, ...] = ()
    programs: tuple[OriginalProgram, ...] = ()
    probes: tuple[Probe, ...] = ()
    operators: tuple[OperatorKernel, ...] = ()
    """What PyTorch's operators call; of several for one case the first, unless one was chosen in
    config/tuning.yaml."""
