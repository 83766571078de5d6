"""The records of builds: what a compiler made of a source, and with what."""

from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import Identifier, Record, Sha256

NO_COMPILER = "none"
"""In the place of a version, where nothing compiles on a machine."""


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


class ToolchainRecord(Record):
    """The compiler, as found: each tool by version, each wheel by name and hash."""

    schema_: Literal["assay/toolchain/1"] = Field(alias="schema")
    nvcc: str
    """Its version; ``NO_COMPILER`` in the record of a build for which there was none."""
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
    built_elsewhere: bool
    """True when a prebuilt artifact with the same sources and command was taken over."""
    cost: CompileCost | None = None
    """None in records of versions that did not count it."""

    @property
    def had_compiler(self) -> bool:
        """Return whether a compiler was there: without one nothing was refused."""
        return self.toolchain.nvcc != NO_COMPILER
