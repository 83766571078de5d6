"""The records of builds: what a compiler made of a source, and with what."""

import re
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import Identifier, Measurable, Record, Sha256


class FileDigest(Record):
    """A file by name, size and content."""

    path: str
    sha256: Sha256
    bytes: Annotated[int, Field(ge=0)]


class KernelResources(Record):
    """The resources of one kernel entry, as ptxas reports them."""

    entry: str
    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    static_shared_bytes: int


class Occupancy(Record):
    """What a multiprocessor holds of one kernel at a time, where the grid is large enough."""

    entry: str
    threads: int
    """Of a block, as the source bounds them (``__launch_bounds__``): our launchers launch these."""
    dynamic_shared_bytes: int
    """Of a block: the value of the constant that the launcher takes."""
    blocks: int
    """By NVIDIA's limits for the architecture, of registers, shared memory, threads and blocks."""
    warps: int


class ToolchainRecord(Record):
    """The compiler, as found: each tool by version, each wheel by name and hash."""

    schema_: Literal["assay/toolchain/1"] = Field(alias="schema")
    nvcc: str
    """Its version."""
    host_compiler: str
    wheels: dict[str, str]
    """Distribution name to version."""
    lock_sha256: Sha256
    """Digest of the hash-pinned lock they were installed from."""
    runtime: str = "host"
    """Where the compiler ran: a container runtime, or ``host``."""
    image_id: str | None = None
    """Image the compiler is part of, asked of the engine; None on the host."""


class CompileCost(Record):
    """The cost of one compilation, where it was compiled."""

    seconds: Annotated[float, Field(ge=0)]
    """Wall clock."""
    cpu_seconds: Annotated[float, Field(ge=0)] | None
    """Processor time; None where a container runtime does not tell."""
    peak_bytes: Annotated[int, Field(ge=0)] | None
    """Resident memory of the largest process; None where a container runtime does not tell."""


class BuildRecord(Record):
    """One compiled artifact, or the compiler's refusal."""

    schema_: Literal["assay/build/1"] = Field(alias="schema")
    id: Identifier
    """Variant, program or probe."""
    kind: Literal["variant", "program", "probe"]
    arch: str
    status: Literal["built", "failed"]
    command: tuple[str, ...]
    """nvcc's arguments, with paths relative to the fixed build directory."""
    sources: tuple[FileDigest, ...]
    """Every file of ours that was compiled; a package's files are pinned by the lock."""
    key: Sha256
    """Digest of sources, command and toolchain lock: equal keys promise equal cubins."""
    artifact: FileDigest | None
    cubins: tuple[FileDigest, ...]
    resources: tuple[KernelResources, ...]
    toolchain: ToolchainRecord
    diagnostics: str
    """The compiler's last lines, for a failed build, or why there was no compiler."""
    asserts: bool | None = None
    """Whether the device code calls the assertion handler; None in a failed build, and in records
    of versions that did not look."""
    code_sha256: Sha256 | None = None
    """Of the machine code, but for line tables and for digits in names that only tell source files
    apart; None in a failed build, and in records of versions that did not look."""
    instructions: dict[str, int] | None = None
    """How many the machine code has: products on tensor cores (HMMA, HGMMA, QGMMA), fragments from
    shared memory (LDSM), asynchronous copies into it (LDGSTS, UTMALDG). None as above."""
    occupancy: tuple[Occupancy, ...] | None = None
    """Of each kernel whose launch kernel.yaml tells (``dynamic_shared``); None where it tells none,
    for PTX, in a failed build, and in records of versions that did not look."""
    built_elsewhere: bool
    """True when a prebuilt artifact with the same sources and command was taken over."""
    cost: CompileCost | None = None
    """None in records of versions that did not count it."""


class BuildCost(Record):
    """One compilation."""

    id: Identifier
    """Variant, program or probe."""
    arch: str
    cpu_seconds: Measurable
    """Processor time: what a compiler takes alone on a core, whatever else the machine does."""
    peak_bytes: Annotated[int, Field(ge=0)]
    """Resident memory of the largest process."""


class BuildCosts(Record):
    """``config/build_costs.json``, which ``tools.build_costs`` writes from build records."""

    schema_: Literal["assay/build_costs/1"] = Field(alias="schema")
    host_compiler: str
    """First line of ``g++ --version``, where they were compiled."""
    processor: str
    """Its model name, as the kernel gives it."""
    costs: tuple[BuildCost, ...]


FLAGS = frozenset({
    "-O1", "-O2", "-O3", "-c", "-cubin", "-lineinfo", "-shared", "-std=c++17", "-std=c++20",
    "-Xcompiler=-fPIE", "-Xcompiler=-fno-strict-aliasing", "--expt-extended-lambda",
    "--expt-relaxed-constexpr", "--keep", "--keep-dir=keep", "--use_fast_math",
})  # fmt: skip
OF_A_RECIPE = frozenset({"-c", "-cubin", "-shared", "--keep", "--keep-dir=keep"})
"""Those among them that say what is made, which no arm of a project does."""
_DEFINE = re.compile(r"-D[A-Za-z_][A-Za-z0-9_]*(=[A-Za-z0-9_]+)?")
_REGISTERS = re.compile(r"--?maxrregcount=[0-9]+")


def is_safe_word(word: str) -> bool:
    """Return whether a word is one of ``FLAGS``, a macro, or a bound on registers."""
    return word in FLAGS or any(form.fullmatch(word) for form in (_DEFINE, _REGISTERS))


def refused_words(words: Iterable[str]) -> list[str]:
    """Return the words that no project's kernel is compiled with."""
    return [word for word in words if not is_safe_word(word) or word in OF_A_RECIPE]


class InspectionResult(Record):
    """Counts of a file in a pinned package, or of all files of a folder together."""

    claim: Identifier
    package: str
    version: str
    path: str
    lines: int
    bytes: int
    sha256: Sha256
    """Of the file; of a folder, that of a list of its files, each with its own."""
    text: str | None = None
    """What was counted beside lines and bytes."""
    matches: int | None = None
    """How often ``text`` stands there."""


class SharedObject(Record):
    """One binary of an optional package."""

    path: str
    """As its package lists it."""
    bytes: Annotated[int, Field(ge=0)]
    sha256: Sha256


class ArchCode(Record):
    """What the binaries hold for one architecture."""

    arch: str
    """As the compiler names it: sm_80, sm_90a."""
    form: Literal["cubin", "ptx"]
    files: Annotated[int, Field(ge=1)]
    """Embedded files of this form."""
    kernels: Annotated[int, Field(ge=0)]
    """Functions in them whose names hold the text that is sought; of PTX, entry points."""


class DeviceCodeResult(Record):
    """The device code of an optional package, as looked for on behalf of one claim."""

    claim: Identifier
    rival: Identifier
    package: str
    kernels: str
    """The text that was sought in names."""
    status: Literal["inspected", "not_installed", "failed"]
    version: str | None = None
    """Of the package that was found."""
    tool: str | None = None
    """What read the binaries, with its version."""
    objects: tuple[SharedObject, ...] = ()
    code: tuple[ArchCode, ...] = ()
    detail: str = ""
    """Why nothing was inspected."""


class InspectionsRecord(Record):
    """All inspections of a run."""

    schema_: Literal["assay/inspections/1"] = Field(alias="schema")
    inspections: tuple[InspectionResult, ...]
    device_code: tuple[DeviceCodeResult, ...] = ()
