"""Everything that can be compiled: kernel variants, original programs, support probes."""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from assay.records.base import (
    CompilerWord,
    FileName,
    Identifier,
    PackageName,
    PathBelow,
    Record,
    Symbol,
)
from assay.records.workloads import Operation

Arch = Literal["sm_80", "sm_89", "sm_90a"]
"""A build for sm_80 is made only where a target of the run has that architecture, as any is."""

Abi = Literal[
    "bsr_gemm",
    "bsr_bsr_gemm",
    "tma_load",
    "block_sparse_attention",
    "block_sparse_attention_fp8",
    "block_sparse_attention_backward",
    "project",
]
Artifact = Literal["original", "reimplemented"]

HostConstant = Annotated[str, Field(pattern=r"^(0|[A-Za-z_]\w*(::[A-Za-z_]\w*)*)$")]
"""A constant of a source, by its name in C++, or 0."""


class Variant(Record):
    """One implementation of an operation."""

    id: Identifier
    operation: Operation
    title: str
    kind: Literal["kernel", "library", "callable"]
    """``kernel``: compiled from this repository; ``library``: called through the device side;
    ``callable``: made by a function of a project."""
    source: PathBelow | None = None
    """File beside kernel.yaml, for kernels; of a project below its folder."""
    symbol: Symbol | None = None
    """The extern "C" launcher."""
    abi: Abi | None = None
    """Argument list of the launcher, as the operation's README.md fixes it; ``project``: that of
    docs/assay-yaml.md."""
    operands: tuple[Symbol, ...] = ()
    """Of a project's kernel: the inputs whose addresses the launcher takes, in its order."""
    sizes: tuple[Symbol, ...] = ()
    """Of a project's kernel: the parameters that it takes, in its order."""
    archs: tuple[Arch, ...] = ()
    """Those that a kernel is built for; those that a library runs on, all where none is named."""
    defines: dict[Symbol, int] = {}
    flags: tuple[CompilerWord, ...] = ()
    """Further nvcc flags, for example the source's --use_fast_math."""
    entry: Symbol | None = None
    """Name in assay.device.kernels.baselines, for libraries; the arm's, for callables."""
    rival: Identifier | None = None
    """What has to be installed for it, of config/rivals.yaml; None where PyTorch will do."""
    artifact: Artifact
    package: PackageName | None = None
    """The published package whose own kernel a project's arm calls."""
    built_from: str
    """The statements a kernel was rebuilt from, or the library it calls."""
    output_dtype: Literal["float32"] | None = None
    """Of the output, where it is not the inputs': it runs workloads that say the same, and only
    those."""
    score_dtype: Literal["float16"] | None = None
    """Of attention's scores on their way from one launch to the next, where they are rounded; their
    log-sum-exps may then be off by as much (``assay.device.tasks.correctness``)."""


UNSAID = "kernel.yaml does not say"
"""Where the flags of manifests from before come from, which list the words alone."""


class CitedFlag(Record):
    """One word of a compiler's command line, and who put it there."""

    flag: str
    from_: str = Field(alias="from")
    """In words: the source's own build line, CMake's defaults, a file of the author's."""
    file: str | None = None
    """File of the pinned package that sets it, where the package holds one."""
    line: Annotated[int, Field(ge=1)] | None = None
    why: str | None = None
    """Why it is left out, for a flag that is."""


def _cited(flag: Any) -> Any:
    return {"flag": flag, "from": UNSAID} if isinstance(flag, str) else flag


Flag = Annotated[CitedFlag, BeforeValidator(_cited)]
"""A bare word, as older manifests have it, is a flag of which nobody says where it is from."""


class OriginalProgram(Record):
    """An author's own program, compiled from a pinned package."""

    id: Identifier
    title: str
    package: PackageName
    source: PathBelow
    """Path of the .cu inside the package."""
    archs: Annotated[tuple[Arch, ...], Field(min_length=1)]
    build: Literal["typed", "release"] | None = None
    """``typed``: by the build line that the source prints; ``release``: as the author's own build
    system makes it. None in manifests from before."""
    flags: tuple[Flag, ...]
    """In the order of the command line, less the architecture, which is the target's, and -I."""
    left_out: tuple[CitedFlag, ...] = ()
    """Flags of the same command line that change no code, each with why it is not given."""
    includes: tuple[PathBelow, ...]
    """Include directories inside the package."""
    parser: Literal["cutlass_41", "cutlass_43", "cutlass_47", "cutlass_57", "cutlass_88"]
    verify: tuple[str, ...] = ()
    """Arguments that make it check its output; none for a program that does so in every run."""
    unverified: tuple[str, ...] = ()
    """Arguments of problems at which that takes too long: a reference may be a naive kernel."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return the flags as the compiler reads them."""
        return tuple(each.flag for each in self.flags)

    def verified_by(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """Return the further arguments that make it check a problem; none where it is not told."""
        return () if set(self.unverified) & set(arguments) else self.verify


class Probe(Record):
    """A few lines of CUDA that need one hardware feature."""

    id: Identifier
    title: str
    source: FileName
    flags: tuple[CompilerWord, ...] = ()


class OperatorKernel(Record):
    """A compiled variant that torch.ops.assay may call, and the one case it is for."""

    variant: Identifier
    """Its operation is the operator's name."""
    dtype: Literal["float16", "bfloat16", "float8_e4m3"]
    block: tuple[Annotated[int, Field(gt=0)], Annotated[int, Field(gt=0)]]
    """Rows and columns of a stored block of A, or of attention's scores."""
    block_b: tuple[Annotated[int, Field(gt=0)], Annotated[int, Field(gt=0)]] | None = None
    """Of a sparse B."""
    head_dim: Annotated[int, Field(gt=0)] | None = None
    """Of attention."""


class KernelManifest(Record):
    """``kernels/<folder>/kernel.yaml``."""

    schema_: Literal["assay/kernels/1"] = Field(alias="schema")
    families: dict[Identifier, dict[str, Any]] = {}
    """What variants of one source share, by the name that each of them gives as its ``family``."""
    dynamic_shared: dict[FileName, dict[Symbol, HostConstant]] = {}
    """Bytes of dynamic shared memory that each kernel of a source is launched with."""
    variants: tuple[Variant, ...] = ()
    programs: tuple[OriginalProgram, ...] = ()
    probes: tuple[Probe, ...] = ()
    operators: tuple[OperatorKernel, ...] = ()
    """What PyTorch's operators call; of several for one case the first, unless one was chosen in
    config/tuning.yaml."""

    @field_validator("variants", mode="plain")
    @classmethod
    def _members_are_whole(cls, entries: Any, info: ValidationInfo) -> tuple[Variant, ...]:
        if not isinstance(entries, list | tuple):
            raise ValueError("is no list")
        families = info.data.get("families", {})
        return tuple(
            Variant.model_validate_json(json.dumps(_whole(entry, families))) for entry in entries
        )


def _whole(entry: Any, families: dict[str, dict[str, Any]]) -> Any:
    if not isinstance(entry, dict) or "family" not in entry:
        return entry
    member = {name: value for name, value in entry.items() if name != "family"}
    base = families.get(entry["family"])
    if base is None:
        raise ValueError(f"there is no family '{entry['family']}'")
    defines = {**base.get("defines", {}), **member.get("defines", {})}
    return {"kind": "kernel", **base, **member, "defines": defines}
