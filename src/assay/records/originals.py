"""Programs that a source publishes elsewhere: the lines that it types, and what came of them."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from assay.records.arithmetic import SourcePlace
from assay.records.base import GpuRecord, Identifier, Moment, Record, Sha256
from assay.records.builds import ToolchainRecord
from assay.records.units import Unit
from assay.shared.output_readers import Take, parse_reader


def _pattern(text: str) -> str:
    return parse_reader(text).text


def _digest(text: str) -> str:
    if re.fullmatch(r"([a-z0-9][a-z0-9._:/-]{0,200}@)?sha256:[0-9a-f]{64}", text) is None:
        raise ValueError(
            f"'{text}' names no image by its digest: NAME@sha256:..., or an engine's id, sha256:..."
        )
    return text


def _inside(text: str) -> str:
    if text.startswith("/") or ".." in text.split("/"):
        raise ValueError(f"'{text}' is no path inside a checkout")
    return text


ImageDigest = Annotated[str, AfterValidator(_digest)]
"""A container image by its digest: ``NAME@sha256:...``, or the id that an engine gave it."""
Patterned = Annotated[str, AfterValidator(_pattern)]
"""What reads a figure off an output, by the grammars of ``assay.shared.output_readers``."""
PathInside = Annotated[str, AfterValidator(_inside)]


class FigurePattern(Record):
    """A figure that a program prints, as the source writes it, and the claim that it answers."""

    claim: Identifier
    pattern: Patterned
    unit: Unit
    take: Take = Take.ONLY
    """Which number of a run counts where it prints several; by default several are no figure."""
    counts: Identifier | None = None
    """The claim's reading by which the program is known to run and count, where that is not the
    primary one. What it prints is a reading then, and no verdict rests on it."""

    @model_validator(mode="after")
    def _one_figure_a_run(self) -> "FigurePattern":
        if self.take is Take.ALL:
            raise ValueError("a run gives one figure: take is only, first, last, min or max")
        return self


class ReportedSize(Record):
    """A size of the problem that a program prints, and that it must have run."""

    name: str
    pattern: Patterned
    equals: float


class TypedLine(Record):
    """A command line as the source types it."""

    line: str
    """Its continuation lines joined."""
    place: SourcePlace
    lacks: str | None = None
    """What one would have to add before it can be given to a shell, in words; None for nothing."""


class GivenLine(Record):
    """A command line that is run, and whose it is."""

    line: str
    by: Literal["source", "user"]


class OriginalSource(Record):
    """A program whose file the source names, and that is in no package pinned here."""

    id: Identifier
    file: PathInside | None
    """As the source names it; the one that the record has the digest of. None where it names
    none."""
    place: SourcePlace
    """Where it is named."""
    directory: PathInside = "."
    """Of a checkout, where its lines are typed."""
    build: TypedLine | None
    """None where the source types none."""
    run: TypedLine | None
    """By which the stated problem runs."""
    image: ImageDigest | None = None
    """In which its lines are typed; None for where kernels are compiled and measured."""
    typed: TypedLine | None = None
    """As the source types it, where that runs another problem than it states: a reading."""
    figures: Annotated[tuple[FigurePattern, ...], Field(min_length=1)]
    sizes: tuple[ReportedSize, ...] = ()
    """Of the stated problem: a run that prints another one, or none, gives no figure."""
    defines: dict[Annotated[str, Field(pattern=r"^[A-Z_]+$")], int] = {}
    """What a build of the source's program with other settings defines (``-DNAME=``) in place of
    its line's; of such a build alone."""

    def options_of(self, source: str) -> tuple[str, ...]:
        """Return what a user gives to have it run: the checkout, and the lines that it lacks."""
        options = [f"--original {source}=DIR"]
        if self.build is not None and self.build.lacks:
            options.append(
                f"--original-build '{source}=LINE' (the source's lacks {self.build.lacks})"
            )
        if self.run is None:
            options.append(f"--original-run '{source}=LINE' (the source types none)")
        elif self.run.lacks:
            options.append(f"--original-run '{source}=LINE' (the source's lacks {self.run.lacks})")
        return tuple(options)

    def built_by(self, line: GivenLine) -> GivenLine:
        """Return the build line with this build's own settings in the place of that line's."""
        text = line.line
        for name, value in self.defines.items():
            text = re.sub(rf"(-D{name}=)\S+", rf"\g<1>{value}", text)
        return line if text == line.line else GivenLine(line=text, by="user")

    def figure_of(self, claim: str) -> FigurePattern | None:
        """Return the figure that answers a claim; None where none of it does."""
        return next((figure for figure in self.figures if figure.claim == claim), None)


class LineRun(Record):
    """One run of a command line."""

    exit_code: int
    seconds: float
    stdout: str
    stderr: str
    cut: bool
    """Whether more was printed than is kept."""


class CheckoutCopy(Record):
    """The copy of a user's checkout that a run works in."""

    files: int
    bytes: int
    sha256: Sha256
    """Of a list of its files, each with its own."""


class OriginalJob(Record):
    """A program from a checkout, to be built and run by lines that are whole."""

    source: Identifier
    original: Identifier
    checkout: CheckoutCopy
    build: GivenLine | None
    """None where nothing is built."""
    run: GivenLine
    typed: GivenLine | None = None
    """Run too, after it; None where the source types no other line."""
    figures: tuple[()] = ()
    """Of earlier versions; always empty."""


class OriginalRequest(Record):
    """A job with the place of the checkout, which is never part of the evidence."""

    job: OriginalJob
    directory: str


class OriginalRunRecord(GpuRecord):
    """An author's own program, from a checkout that the user has, by the source's own lines."""

    schema_: Literal["assay/original_run/1"] = Field(alias="schema")
    source: Identifier
    original: Identifier
    target: Identifier
    recorded_at: Moment
    file: str | None
    file_sha256: Sha256 | None
    """None where the source names no file; the checkout's own digest covers all of them."""
    checkout: CheckoutCopy
    compiler: LineRun | None
    """What the compiler that the build line names says to --version; None where nothing is built,
    or it names none."""
    build_line: GivenLine | None
    build: LineRun | None
    run_line: GivenLine
    runs: tuple[LineRun, ...]
    """Empty where the build failed."""
    typed_line: GivenLine | None = None
    """None where the source types no other line than the one that ran."""
    typed_runs: tuple[LineRun, ...] = ()
    """Of that line, as often."""
    image: ImageDigest | None = None
    """The image in which it was built and ran; None where the source names none."""
    lacking: str | None = None
    """Why nothing of it could be built or run: its image cannot be had here."""
    figures: tuple[()] = ()
    """Of earlier versions, where a user's own pattern might find a figure: none did."""


MOST_LINES = 40
LONGEST_LINE = 300

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
