"""The ways in which claims are answered: by arithmetic, a benchmark, an original program ..."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from assay.records.arithmetic import Formula, Operand
from assay.records.base import Identifier, PackageName, PathBelow, Record
from assay.shared.expressions import parse


def _formula(text: str) -> str:
    """Return ``text``. Raises ValueError for what is no formula, or one that never counts."""
    formula = parse(text)
    if not formula.counts_something():
        raise ValueError(f"'{text}' has no value above zero for any problem")
    return formula.text


Formulated = Annotated[str, AfterValidator(_formula)]


class NotRun(StrEnum):
    """The reason why a claim has no measured answer here."""

    NO_DEVICE = "no_device"
    DRIVER_TOO_OLD = "driver_too_old"
    UNSUPPORTED_ARCH = "unsupported_arch"
    CONFIGURATION_MISSING = "configuration_missing"
    ORIGINAL_UNAVAILABLE = "original_unavailable"
    NOT_IMPLEMENTED = "not_implemented"
    NOT_IN_BUILD = "not_in_build"
    BUILD_FAILED = "build_failed"
    RUN_FAILED = "run_failed"
    NOT_INSTALLED = "not_installed"
    RIVAL_MISSING = "rival_missing"
    NOT_RECORDED = "not_recorded"
    NOT_SELECTED = "not_selected"


class Arithmetic(Record):
    """Answered by recomputing the figure from others that are printed; needs no GPU."""

    kind: Literal["arithmetic"]
    formula: Formula
    operands: Annotated[tuple[Operand, ...], Field(min_length=1)]


class Term(Record):
    """One measured quantity: an arm of a comparison, or the ratio of two of its arms."""

    comparison: Identifier
    arm: Identifier
    over: Identifier | None = None
    """Baseline arm; the quantity is then rate(arm) / rate(over), from paired blocks."""


class Metric(StrEnum):
    """A figure that is read off a benchmark's samples."""

    RATE = "rate"  # TFLOP/s by the claim's FLOP formula (nnz where unstated)
    TIME = "time"  # ms
    BANDWIDTH = "bandwidth"  # GB/s, bytes of the operation's minimal traffic
    RATE_RATIO = "rate_ratio"  # rate(arm) / rate(over), each by its own operation's FLOPs
    TIME_RATIO = "time_ratio"  # time(over) / time(arm): how many times faster


class Quantity(Record):
    """A measured quantity by name: a term and what is read off it."""

    metric: Metric
    term: Term


class Benchmark(Record):
    """Answered by timing a variant that this repository builds or a library provides."""

    kind: Literal["benchmark"]
    metric: Metric
    terms: Annotated[tuple[Term, ...], Field(min_length=1)]
    """More than one term: the claim must hold for the worst of them."""
    alternatives: tuple[Quantity, ...] = ()
    """Other readings of the source, measured too and shown beside the verdict."""


class Invocation(Record):
    """The start of an original program, and the problem that it must report to have run."""

    arguments: tuple[str, ...]
    shape: dict[str, int | bool]
    """The stated problem, keyed as its parser names it (``judging.cutlass_output``)."""


class Program(Record):
    """Answered by running the author's own program, as typed and as stated.

    Of a support statement, by whether it passes its own check of what it computes.
    """

    kind: Literal["program"]
    program: Identifier
    figure: str
    """Name of the printed figure, as assay.judging.cutlass_output parses it. Where the source names
    no kernel, a pattern with ``*``: the fastest that matches answers, the others stand beside."""
    typed: tuple[str, ...] | None
    """Arguments exactly as the source types them; None where it gives no command line."""
    stated: Invocation
    """Arguments that really produce the configuration the source states."""


class Derived(Record):
    """Answered from two other claims' measured values."""

    kind: Literal["derived"]
    formula: Literal["quotient", "percent_gain"]
    numerator: Identifier
    denominator: Identifier
    under: Identifier | None = None
    """Reading of the two that is meant; one without it is taken as it stands."""
    flops: Formulated | None = None
    """FLOPs that both rates count in place of their own: by one count, say of the dense problem,
    their quotient is one of times."""


class Support(Record):
    """Answered by compiling a probe or an example for an architecture: does it build?"""

    kind: Literal["support"]
    probe: Identifier
    arch: Identifier
    expect: Literal["builds", "fails"]
    nearest: tuple[Quantity, ...] = ()
    """Measured quantities shown beside the outcome: a build says nothing of a run."""


PASSES = "passes"
"""The outcome that a support statement on a program is about, as verdicts have it."""
RUNS = "runs"
"""The outcome that an ``Execution`` is about, as verdicts have it."""


class Execution(Record):
    """Answered by running a variant: does it run there, with the right output?"""

    kind: Literal["runs"]
    terms: Annotated[tuple[Term, ...], Field(min_length=1)]
    """Arms that must all pass the gate; their times decide nothing."""
    nearest: tuple[Quantity, ...] = ()
    """Measured quantities shown beside the outcome."""

    @model_validator(mode="after")
    def _without_baselines(self) -> "Execution":
        if any(term.over is not None for term in self.terms):
            raise ValueError("an arm runs or does not: nothing is held against it (over)")
        return self


class GateFigure(Record):
    """Answered by the gate, whatever an arm's time: by the largest error of its outputs, or by how
    many of the products that it should do it does.
    """

    kind: Literal["accuracy", "completeness"]
    term: Term
    """Of ``completeness`` an arm whose program misses products, on which no other claim may
    rest."""

    @model_validator(mode="after")
    def _without_baseline(self) -> "GateFigure":
        if self.term.over is not None:
            raise ValueError("it is held against the oracle, and against no arm (over)")
        return self


class DeviceCode(Record):
    """Answered by looking which architectures an optional package's binaries hold code for."""

    kind: Literal["device_code"]
    rival: Identifier
    """In config/rivals.yaml."""
    arch: Annotated[str, Field(pattern=r"^sm_[0-9]{2,3}$")]
    """Of a GPU, which loads code of its own architecture and some of others."""
    kernels: Annotated[str, Field(min_length=1)]
    """Text in the names of the kernels that matter: helpers alone are no support."""
    expect: Literal["present", "absent"]


class Compiles(Record):
    """Answered by compiling a file of the source, as published, from the user's checkout."""

    kind: Literal["compiles"]
    compilation: Identifier
    """In the claim file's ``compilations``."""
    arch: Identifier
    expect: Literal["builds", "fails"]
    text: Annotated[str, Field(min_length=1)] | None = None
    """Words of the compiler that must be among those that it refuses the file with."""
    nearest: tuple[Quantity, ...] = ()
    """Measured quantities shown beside the outcome: what does here as the file was meant to."""

    @model_validator(mode="after")
    def _words_of_a_refusal(self) -> "Compiles":
        if self.text is not None and self.expect != "fails":
            raise ValueError("words are looked for where a compiler refuses (expect: fails)")
        return self


class Inspection(Record):
    """Answered by counting in a file of a pinned package, or a text in all files of a folder."""

    kind: Literal["inspection"]
    package: PackageName
    path: PathBelow
    quantity: Literal["lines", "bytes", "matches"]
    text: str | None = None
    """For ``matches``: the text that is counted, upper and lower case as they stand."""

    @model_validator(mode="after")
    def _text_for_matches(self) -> "Inspection":
        if (self.quantity == "matches") != bool(self.text):
            raise ValueError("matches are counted of a text; lines and bytes need none")
        return self


class Unanswerable(Record):
    """Cannot be answered from what the source states; says why and what comes nearest."""

    kind: Literal["unanswerable"]
    reason: NotRun
    detail: str
    nearest: tuple[Identifier | Quantity, ...] = ()
    """Claims, or measured quantities, that are shown beside it."""


Evaluation = Annotated[
    Arithmetic
    | Benchmark
    | Program
    | Derived
    | Support
    | Execution
    | GateFigure
    | DeviceCode
    | Compiles
    | Inspection
    | Unanswerable,
    Field(discriminator="kind"),
]

PRIMARY = "primary"
"""Id of the reading that a verdict rests on."""
AS_TYPED = "as_typed"
"""Id of the reading that every command typed otherwise than it states has by itself."""
PRINTED = "original"
"""Id of the reading that a figure becomes which the source's own program counts otherwise."""


class FlopFormula(StrEnum):
    """The operations that a rate counts; the judge converts, then compares (``shared.flops``)."""

    NNZ = "nnz"
    DENSE = "dense"
    EFFECTIVE = "effective"
    ATTENTION_4BHQKD = "attention_4bhqkd"
    CUTLASS_41_FULL = "cutlass_41_full"
    CUTLASS_41_CAUSAL = "cutlass_41_causal"
    UNSTATED = "unstated"


class Reading(Record):
    """Another meaning of a claim's words: another count, another problem, other words."""

    id: Identifier
    says: str
    """The meaning, in our own words, one line."""
    differs: Literal["work", "problem", "words", "build", "rival", "unstated"]
    """What it takes otherwise than the primary reading: the FLOPs that are counted, the problem
    that runs, what the text means, how the same program is built, whom it is held against, or what
    the source leaves unsaid, so that one choice is as good as the other."""
    evaluation: Annotated[Benchmark | Program | Derived | Unanswerable, Field(discriminator="kind")]
    """Nothing here measures an unanswerable one: while it could hold, no verdict is final."""
    flop_formula: FlopFormula | None = None
    """In place of the claim's; None where that holds here too."""
    flops: Formulated | None = None
    """FLOPs of one launch as this reading counts them, over the problem's facts."""
    bytes: Formulated | None = None
    """The same for the bytes that a bandwidth counts."""
