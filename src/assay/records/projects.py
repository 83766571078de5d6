"""A document of claims: sources, figures, and what answers them. ``assay.yaml`` of a project is
one, and so is each file of ``config/claims``.

``catalog.project`` makes of it the records that judging, planning and verifying know. No field here
is known to any of them.
"""

from datetime import date
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from assay.records.base import (
    LONGEST_PATH,
    CallableName,
    CompilerWord,
    Identifier,
    PackageName,
    PathBelow,
    Record,
    Symbol,
)
from assay.records.claims import Audit, ClaimKind, ClaimText, Hardware, Source, SourceExtras
from assay.records.evaluations import Evaluation, Formulated, Metric
from assay.records.kernels import Arch
from assay.records.originals import ImageDigest, PathInside, Patterned
from assay.records.platform import Target
from assay.records.workloads import CodeParameter
from assay.shared.output_readers import Take

ProjectDtype = Literal["float16", "bfloat16", "float8_e4m3", "float32"]


def _day(text: str) -> str:
    try:
        if not date.fromisoformat(f"{text}-01-01"[:10]).isoformat().startswith(text):
            raise ValueError(text)
    except ValueError:
        raise ValueError(f"'{text}' is no date: YYYY, YYYY-MM or YYYY-MM-DD") from None
    return text


PublishedOn = Annotated[str, StringConstraints(max_length=10), AfterValidator(_day)]


def _below(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not text.isprintable():
        raise ValueError("names the document itself, or its place below the project's folder")
    return text


DocumentName = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_PATH), AfterValidator(_below)
]
"""Where a document would lie in the project; it need not."""


class ProjectSource(Source, SourceExtras):
    """A document that publishes figures, or what the project publishes of itself."""

    date: PublishedOn | None = None
    file: DocumentName | None = None
    """File name of the document; None for the project's own statements."""

    @model_validator(mode="after")
    def _document_has_a_digest(self) -> Self:
        if (self.file is None) != (self.sha256 is None):
            raise ValueError("file and sha256 are given together: a document is named by its bytes")
        return self


class ProjectTarget(Target):
    """A GPU product that Assay has no file of; its peaks are then the signer's word."""

    schema_: Literal["assay/target/1"] = Field(default="assay/target/1", alias="schema")


CudaFile = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*\.cu$",
        max_length=300,
    ),
]

MOST_COMMAND = 2000
"""Characters of a command: somebody reads all of it before it runs."""


def _line(text: str) -> str:
    if not text.strip():
        raise ValueError("is an empty line")
    if len(text) > MOST_COMMAND:
        raise ValueError(f"has more than {MOST_COMMAND:,} characters: put it into a script")
    if not all(each.isprintable() or each in "\n\t" for each in text):
        raise ValueError("holds what no terminal shows")
    return text


ShellLine = Annotated[str, AfterValidator(_line)]
"""What is given to a shell: text that prints."""


class CudaArm(Record):
    """An arm that is compiled by Assay's toolchain from a CUDA file of the project.

    docs/assay-yaml.md has the argument list of its launcher.
    """

    title: str
    """What it is, in words."""
    source: CudaFile
    symbol: Symbol
    """The extern "C" launcher in it."""
    operands: Annotated[tuple[Symbol, ...], Field(min_length=1)]
    """Inputs whose addresses it takes, in its order."""
    sizes: tuple[Symbol, ...] = ()
    """Parameters that it takes, whole numbers, in its order."""
    archs: Annotated[tuple[Arch, ...], Field(min_length=1)]
    """Architectures that it is compiled for: ``[sm_90a]``."""
    defines: dict[Symbol, int] = {}
    flags: tuple[CompilerWord, ...] = ()
    """Further words for nvcc, such as --use_fast_math."""


class Measurement(Record):
    """Arms that a Python function of the project makes, measured by the built-in arms' protocol.

    The function is called with the parameters and ``device``; docs/assay-yaml.md says what it
    returns.
    """

    id: Identifier
    title: str
    callable: CallableName
    parameters: dict[Symbol, CodeParameter] = {}
    """Of the problem, as the function takes them; formulas name those that are numbers."""
    small: dict[Symbol, CodeParameter] = {}
    """Parameters of a small problem, where they differ: for compiled arms in the gate, and for
    compute-sanitizer."""
    arms: Annotated[dict[Identifier, str | CudaArm], Field(min_length=1)]
    """What each arm is, in words, its key in what the function returns; or a CUDA file."""
    control: Identifier | None = None
    """The arm that is measured twice under two names; by default the last."""
    dtype: ProjectDtype
    """Of the inputs: by it the roofline's rate is taken."""
    flops: Formulated | None = None
    """Floating-point operations of one launch, over the parameters; what answers a rate needs
    them."""
    bytes: Formulated | None = None
    """Least bytes that one launch moves, over the parameters; a bandwidth needs them."""
    relative_tolerance: Annotated[float, Field(gt=0)]
    """Largest accepted ||out - oracle||_F / ||oracle||_F."""
    max_abs_tolerance: Annotated[float, Field(gt=0)] | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    protocol: Identifier = "steady"
    """Of config/protocols.yaml: projects have none of their own."""
    artifact: Literal["original", "reimplemented"] = "reimplemented"
    """Whether the arms are the source's own code, or were rebuilt from what it says."""
    packages: dict[Identifier, PackageName] = {}
    """Arms that call a library's own kernel, and the published package that it comes from."""
    built_from: str | None = None
    """The statements it was rebuilt from, or what it calls."""


class StatedSize(Record):
    """A size of the problem, as the command must print it."""

    reads: Patterned
    """What finds it in the output, as a figure is found."""
    equals: float


class ProjectCommand(Record):
    """A program of the project that prints figures, by its build line and its run line.

    It runs in a copy of the project's files, as often as config/judging.yaml says.
    """

    id: Identifier
    source: Identifier | None = None
    """The source whose figures it prints; not needed where the project has one."""
    build: ShellLine | None = None
    run: ShellLine
    """By which the stated problem runs."""
    typed: ShellLine | None = None
    """As the document types it, where that runs another problem than the document states: run too,
    and shown as a reading."""
    image: ImageDigest | None = None
    """A container image in which the lines are typed, by its digest: ``NAME@sha256:...``."""
    directory: PathInside = "."
    """Where the lines are typed, below the project."""
    sizes: dict[str, StatedSize] = {}
    """Of the stated problem: a run that prints another one, or none, gives no figure."""


class ShortAnswer(Record):
    """What answers a claim, in short; its metric follows from the claim's unit."""

    measurement: Identifier | None = None
    """Of this project."""
    command: Identifier | None = None
    """Likewise."""
    reads: Patterned | None = None
    """What finds the figure in the command's output: ``GFLOPs: {value}``, ``json: ...``
    or ``csv: ...``."""
    take: Take = Take.ONLY
    """Which number counts where the command prints several."""
    unit: str | None = None
    """Of what it prints, where that is not the claim's."""
    comparison: Identifier | None = None
    """One of Assay's own, in config/comparisons."""
    arm: Identifier | None = None
    """By default the first arm of the measurement."""
    over: Identifier | None = None
    """Of a ratio: the arm that is held against."""
    metric: Metric | None = None
    """Where the unit leaves a choice: a ratio is one of times, unless it is said to be of rates."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if [self.measurement, self.comparison, self.command].count(None) != 2:
            raise ValueError(
                "an answer names a measurement, a command or a comparison, one of them"
            )
        if (self.command is None) != (self.reads is None):
            raise ValueError("of a command, and of nothing else, reads says where its figure is")
        if self.command is not None and any((self.arm, self.over, self.metric)):
            raise ValueError("arm, over and metric are of a measurement or a comparison")
        if self.comparison is not None and self.arm is None:
            raise ValueError("of a comparison an arm is named (arm)")
        return self


class ProjectClaim(ClaimText):
    """One published figure. Units stand as people write them; what follows from the rest may be
    left out.
    """

    source: Identifier | None = None
    """Not needed where the project has one source."""
    kind: ClaimKind | None = None
    """By default: a ratio for a ratio, support without a value, else a measurement."""
    value: float | str | None = None
    """The printed figure, with its unit (``610 TFLOP/s``) or without."""
    unit: str | None = None
    """TFLOP/s, GFLOP/s, PFLOP/s, GB/s, TB/s, s, ms, us, ns, x, %, count, lines, max_abs_error."""
    resolution: Annotated[float, Field(ge=0)] | None = None
    """One unit of the last printed digit; by default that of ``value`` as it is typed."""
    target: Identifier | tuple[Identifier, ...] | None = None
    """The target that it is claimed for, or several; in place of ``hardware``."""
    hardware: Hardware | None = None
    answer: ShortAnswer | None = None
    evaluation: Evaluation | None = None
    """In place of ``answer``: any of the ways in which a claim can be answered."""

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        if (self.answer is None) == (self.evaluation is None):
            raise ValueError("a claim says what answers it: answer or evaluation, one of the two")
        if self.target == ():
            raise ValueError("target: is an empty list: leave it out where the document names none")
        if self.target is not None and self.hardware is not None:
            raise ValueError("target stands in the place of hardware: give one of the two")
        return self


class ProjectAudit(Audit):
    """A relation that a source states or relies on between figures."""

    source: Identifier | None = None
    """Not needed where the project has one source."""


class ProjectDocument(Record):
    """``assay.yaml`` of a project, or a file of ``config/claims``."""

    schema_: Literal["assay/project/1"] = Field(alias="schema")
    title: str | None = None
    sources: Annotated[tuple[ProjectSource, ...], Field(min_length=1)]
    targets: tuple[ProjectTarget, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    commands: tuple[ProjectCommand, ...] = ()
    claims: Annotated[tuple[ProjectClaim, ...], Field(min_length=1)]
    audits: tuple[ProjectAudit, ...] = ()
    files: tuple[PathBelow, ...] = ()
    """Files of the project that its code reads, beside what is Python or CUDA there."""
