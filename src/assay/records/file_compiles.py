"""Files that a source publishes elsewhere, compiled as published; nothing of them is ever run."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from assay.records.arithmetic import SourcePlace
from assay.records.base import Identifier, Moment, Record, Sha256
from assay.records.builds import ToolchainRecord
from assay.records.originals import CheckoutCopy, PathInside

MOST_LINES = 40
"""Lines of the compiler's that are kept."""
LONGEST_LINE = 300
"""Characters of one of them."""

CompilerLine = Annotated[str, StringConstraints(pattern=r"^[ -~]+$", max_length=LONGEST_LINE)]
"""A line that a compiler printed: it names a stranger's words, so that only ASCII is kept."""
CompiledArch = Annotated[str, StringConstraints(pattern=r"^sm_[0-9]+a?$", max_length=10)]


class PublishedFile(Record):
    """A file that the source names, whose compilation is what its claims are about."""

    id: Identifier
    file: PathInside
    """Of a checkout, as it was published."""
    place: SourcePlace
    """Where it is named."""
    public: str
    """Where it is to be had, in words."""
    archs: Annotated[tuple[CompiledArch, ...], Field(min_length=1)]


class FileCompileJob(Record):
    """One file of a checkout, to be compiled for one architecture."""

    source: Identifier
    compilation: Identifier
    """The published file's id."""
    arch: CompiledArch
    checkout: CheckoutCopy

    @property
    def key(self) -> tuple[str, str]:
        """Return what tells it from the others of a run."""
        return self.compilation, self.arch


class FileCompileRequest(Record):
    """A job with the place of the checkout, which is never part of the evidence."""

    job: FileCompileJob
    directory: str


class FileCompileRecord(Record):
    """What the pinned compiler made of a file as published, in its own words where it refused."""

    schema_: Literal["assay/file_compile/1"] = Field(alias="schema")
    source: Identifier
    compilation: Identifier
    arch: CompiledArch
    recorded_at: Moment
    file: str
    file_sha256: Sha256
    checkout: CheckoutCopy
    command: tuple[str, ...]
    """nvcc's arguments, all of them ours: the source types no line that compiles the file."""
    exit_code: Annotated[int, Field(ge=0)]
    """0 where it compiles."""
    words: Annotated[tuple[CompilerLine, ...], Field(max_length=MOST_LINES)]
    """The first errors; neither warnings nor the lines of the file that the compiler quotes."""
    cut: bool
    """Whether it found more errors, or had more to say of one, than is kept."""
    toolchain: ToolchainRecord

    @property
    def outcome(self) -> Literal["builds", "fails"]:
        """Return what came of it, in the words of a claim."""
        return "fails" if self.exit_code else "builds"
