"""Claims: published figures, where they stand, and how Assay answers them.

``catalog.project`` makes them of a document of ``records.projects``. A figure is transcribed as
the source prints it; its ``resolution`` is one unit of the last printed digit, so that arithmetic
checks can treat it as the interval it is.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from assay.records import evaluations as ways
from assay.records.arithmetic import Formula, Operand, SourcePlace
from assay.records.base import Identifier, Measurable, Record, Scalar, Sha256
from assay.records.evaluations import Evaluation, FlopFormula, Formulated, Metric, Reading
from assay.records.originals import OriginalSource, PublishedFile
from assay.records.units import Unit, printed
from assay.records.verdicts import Status
from assay.shared.expressions import Expression, parse


class ClaimKind(StrEnum):
    """The sort of statement that the source makes."""

    MEASUREMENT = "measurement"
    RATIO = "ratio"
    STATISTIC = "statistic"
    SUPPORT = "support"
    TARGET = "target"
    PREDICTION = "prediction"
    COMPARATOR = "comparator"
    STATEMENT = "statement"
    """A sentence about speed without a figure, as that one thing is no faster than another."""

    @property
    def forecast(self) -> bool:
        """Return whether the source only expects it: there is no program that reached it."""
        return self in (ClaimKind.TARGET, ClaimKind.PREDICTION)


class Relation(StrEnum):
    """The relation of measured to claimed value that a claim needs to hold."""

    EQUALS = "equals"
    SAME = "same"
    """Two things are said to be alike: an equality that has no better side."""
    AT_LEAST = "at_least"
    AT_MOST = "at_most"

    @property
    def two_sided(self) -> bool:
        """Return whether the claimed figure may be missed on either side: it has a margin."""
        return self in (Relation.EQUALS, Relation.SAME)


class Hardware(Record):
    """The hardware a source names."""

    target: Identifier | None
    """The target in config/targets it corresponds to; None where the source does not say."""
    as_stated: str | None
    """The source's own words for the product, as short as they stand there."""
    also: tuple[Identifier, ...] = ()
    """Further targets that the claim is made for; it is judged on each."""
    only: bool = False
    """Of this product itself, its memory's bandwidth say: of another, a figure tells nothing."""
    stand_in: bool = False
    """Whether the target stands for another product, as stated, that no target is of: a figure of
    it, too, is one of another GPU than the source names."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Hardware":
        if self.stand_in and (self.target is None or self.as_stated is None):
            raise ValueError("stand_in says of a target that it stands for what as_stated names")
        if len(set(self.targets)) < len(self.targets):
            raise ValueError("a target is named twice")
        return self

    @property
    def targets(self) -> tuple[str, ...]:
        """Return every target that the claim is made for; none where the source does not say."""
        return () if self.target is None else (self.target, *self.also)


RATE_UNITS = frozenset({Unit.PFLOP_PER_S, Unit.TFLOP_PER_S, Unit.GFLOP_PER_S})
TIME_UNITS = frozenset({Unit.S, Unit.MS, Unit.US, Unit.NS})
METRIC_UNITS: dict[Metric, frozenset[Unit]] = {
    Metric.RATE: RATE_UNITS,
    Metric.TIME: TIME_UNITS,
    Metric.BANDWIDTH: frozenset({Unit.GB_PER_S, Unit.TB_PER_S}),
    Metric.RATE_RATIO: frozenset({Unit.RATIO, Unit.PERCENT}),
    Metric.TIME_RATIO: frozenset({Unit.RATIO, Unit.PERCENT}),
}

MOST_DECIMALS = 12

SPEED_UNITS = frozenset().union(*METRIC_UNITS.values())
"""Units of rates, times, bandwidths and their ratios."""
NEVER_ZERO_UNITS = SPEED_UNITS - {Unit.PERCENT}
"""Times, rates and ratios are judged by measured over claimed; a gain may well be 0 %."""


def _check_baselines(evaluation: ways.Benchmark) -> None:
    ratio = evaluation.metric in (Metric.RATE_RATIO, Metric.TIME_RATIO)
    over = [term.over is not None for term in evaluation.terms]
    if ratio and not all(over):
        raise ValueError("a ratio names in over what it is compared with")
    if not ratio and any(over):
        raise ValueError("over is for ratios: leave it out, or give the value as a ratio (1.2x)")


class ClaimText(Record):
    """What a source says of a figure, beside the figure itself."""

    id: Identifier
    statement: str
    """What is claimed, in your own words, one line."""
    place: SourcePlace
    decimals: Annotated[int, Field(ge=0, le=MOST_DECIMALS)] | None = None
    """Decimals with which the source prints ``value``, where ``resolution`` does not tell: of a
    bound. By default those that are typed."""
    computed: str | None = None
    """How the value follows from what the source prints, where it does not print it itself."""
    relation: Relation = Relation.EQUALS
    about: bool = False
    """Whether the source prints it with a tilde: it stands for all that rounds to it."""
    to: Measurable | None = None
    """Upper end of a range that the source prints; ``value`` is its lower end."""
    configuration: dict[str, Scalar] = {}
    """Shapes, tile sizes, sparsity, dtype ... as stated, with the source's own names."""
    software: dict[str, str] = {}
    """Versions as stated: cutlass, cuda, driver, pytorch ..."""
    command: str | None = None
    """Command line as typed."""
    flop_formula: FlopFormula | None = None
    """For rates: which operations were counted."""
    flops: Formulated | None = None
    """For rates: FLOPs of one launch over the problem's facts, where no named formula counts so."""
    bytes: Formulated | None = None
    """For bandwidths: bytes of one launch over the problem's facts, where they are not the least
    traffic (inputs read once, output written once)."""
    reading: str | None = None
    """The primary reading, where the words have several: what ``evaluation`` takes them for."""
    readings: tuple[Reading, ...] = ()
    """Other meanings of the words, each measured and shown beside it."""
    unstated: tuple[str, ...] = ()
    """What one would have to know to repeat the measurement and the source leaves unsaid."""
    redefined: str | None = None
    """How what answers it differs from what did in earlier reports: a sentence of the verdict."""
    predicts: tuple[Identifier, ...] = ()
    """The claims whose figures it foretells, in its own unit or as ``computed`` says."""
    note: str | None = None
    """A fact about this figure that a reader of the verdict should know."""
    sentence: Identifier | None = None
    """A name for the sentence that states it, where that states more: all of it counts once."""


class Claim(ClaimText):
    """One published figure."""

    kind: ClaimKind
    value: Measurable | None
    """The printed figure; None only for support statements."""
    unit: Unit | None
    resolution: Measurable | None
    """One unit of the last printed digit of ``value`` (0.1 for 602.1; 0 for counts and bounds)."""
    hardware: Hardware
    evaluation: Evaluation

    @model_validator(mode="after")
    def _figure_fits(self) -> "Claim":
        value, unit, valued = self.value, self.unit, self.value is not None
        named = unit.typed if unit else None
        if not valued == (unit is not None) == (self.resolution is not None):
            raise ValueError("value, unit and resolution are given together or not at all")
        if (self.kind is ClaimKind.SUPPORT) == valued:
            raise ValueError("a support statement carries no value; every other claim carries one")
        if value == 0 and unit in NEVER_ZERO_UNITS:
            says = f"value 0 cannot be a figure in {named}"
            raise ValueError(f"{says}: nothing measured can be held against it")
        if self.resolution == 0 and self.relation.two_sided and unit and not unit.facts.exact:
            says = "resolution 0 is for counts and for bounds (at_least, at_most)"
            raise ValueError(f"{says}: a printed figure has a last digit")
        if self.relation is Relation.SAME and (unit, value) != (Unit.RATIO, 1):
            raise ValueError("what is the same as something else is claimed as a ratio of 1")
        if self.to is not None and (value is None or self.to <= value):
            raise ValueError("to is the upper end of a range that starts at value")
        if self.to is not None and self.relation is not Relation.AT_LEAST:
            raise ValueError("a range is reached from its lower end on: its relation is at_least")
        if self.about and not self.resolution:
            raise ValueError("a figure printed with a tilde has a resolution: what rounds to it")
        if self.computed is not None and not (valued and self.computed.strip()):
            raise ValueError("computed says how the value follows from what the source prints")
        if self.predicts and self.kind is not ClaimKind.PREDICTION:
            raise ValueError("only a prediction foretells the figures of other claims (predicts)")
        return self

    @model_validator(mode="after")
    def _answer_fits(self) -> "Claim":
        unit, answer = self.unit, self.evaluation
        if isinstance(answer, ways.Benchmark):
            if self.relation is Relation.SAME and len(answer.terms) > 1:
                says = "of several terms none is the worst where no side is the better one"
                raise ValueError(says)
            if unit not in (allowed := METRIC_UNITS[answer.metric]):
                names = " or ".join(sorted(each.typed for each in allowed))
                metric = f"metric {answer.metric.value}, which is measured in {names}"
                raise ValueError(f"unit {unit.typed if unit else None} does not fit {metric}")
            _check_baselines(answer)
        figureless = ways.Support | ways.Execution | ways.DeviceCode | ways.Compiles
        if self.kind is not ClaimKind.SUPPORT and isinstance(answer, figureless):
            says = "only a support statement is answered by a compilation, a run without a figure"
            raise ValueError(f"{says} or a look at device code")
        if isinstance(answer, ways.Inspection) and unit not in (Unit.LINES, Unit.COUNT):
            raise ValueError("an inspection counts lines or bytes: its unit is lines or count")
        accurate = (answer.kind == "accuracy") == (unit is Unit.MAX_ABS_ERROR)
        if not accurate and not isinstance(answer, ways.Unanswerable):
            raise ValueError("accuracy is claimed in max_abs_error, and nothing else is")
        if unit in RATE_UNITS and self.flop_formula is None and self.flops is None:
            says = "a rate says which FLOPs it counts"
            raise ValueError(f"{says} (flops, or flop_formula, which may be unstated)")
        if answer.kind == "completeness" and unit is not Unit.PERCENT:
            raise ValueError("completeness is a share, and claimed in percent")
        return self

    @model_validator(mode="after")
    def _readings_fit(self) -> "Claim":
        names = [reading.id for reading in self.readings]
        if len(set(names)) < len(names) or {ways.AS_TYPED, ways.PRIMARY} & set(names):
            taken = f"{ways.PRIMARY} and {ways.AS_TYPED} are taken"
            raise ValueError(f"each reading has an id of its own; {taken}")
        if names and self.reading is None:
            raise ValueError(
                "a claim with several readings says which is the primary one (reading)"
            )
        if names and not isinstance(self.evaluation, ways.Benchmark | ways.Program | ways.Derived):
            raise ValueError("only what is measured has readings")
        for reading in self.readings:
            if isinstance(reading.evaluation, ways.Benchmark):
                if self.unit not in METRIC_UNITS[reading.evaluation.metric]:
                    raise ValueError(f"reading '{reading.id}' is not measured in the claim's unit")
                _check_baselines(reading.evaluation)
        return self

    def __hash__(self) -> int:
        """Return its identity: a reading's claim of the same words is measured otherwise."""
        return id(self)

    @property
    def as_printed(self) -> str:
        """Return its figure as the source prints it: its digits, a tilde, both ends of a range;
        empty without one.
        """
        if self.value is None:
            return ""
        ends = [self.digits(end) for end in (self.value, self.to) if end is not None]
        return f"{'~' if self.about else ''}{'-'.join(ends)}"

    @property
    def rounding(self) -> float:
        """Return the share of its value by which a figure with a tilde may be off, rounded to its
        last digit; 0 of any other.
        """
        if not self.about or not self.value or not self.resolution:
            return 0.0
        return self.resolution / 2 / abs(self.value)

    @property
    def states_an_order(self) -> bool:
        """Return whether it says which of two is more, and not by how much: a bound of 1, or a gain
        of at least 0 %.
        """
        even = 0 if self.unit is Unit.PERCENT else 1
        return self.value == even and self.to is None and not self.relation.two_sided

    def digits(self, figure: float) -> str:
        """Return a figure with as many digits as the source prints of its own."""
        if self.decimals is not None:
            return f"{figure:.{self.decimals}f}"
        return printed(figure, self.resolution)

    @property
    def counting(self) -> FlopFormula | Expression | None:
        """Return how its rate counts FLOPs, or its bandwidth bytes: a formula of its own, a named
        one, or neither.
        """
        own = self.flops or self.bytes
        return self.flop_formula if own is None else parse(own)

    def all_readings(self) -> tuple[Reading, ...]:
        """Return its readings but the primary one; a command that is typed otherwise is one."""
        evaluation = self.evaluation
        if not isinstance(evaluation, ways.Program) or evaluation.typed in (
            None,
            evaluation.stated.arguments,
        ):
            return self.readings
        stated = ways.Invocation(arguments=evaluation.typed, shape={})
        typed = Reading(
            id=ways.AS_TYPED,
            says="the command as the source types it, with the figure that it prints",
            differs="problem",
            evaluation=evaluation.model_copy(update={"typed": None, "stated": stated}),
            flop_formula=FlopFormula.UNSTATED,
        )
        return (typed, *self.readings)

    def read_as(self, name: str | None) -> "Claim":
        """Return the claim under one of its readings; itself where it has none of that id."""
        return next((self.under(each) for each in self.all_readings() if each.id == name), self)

    def under(self, reading: Reading) -> "Claim":
        """Return the claim with a reading's meaning in place of its own."""
        return self.model_copy(
            update={
                "evaluation": reading.evaluation,
                "flop_formula": reading.flop_formula or self.flop_formula,
                "flops": reading.flops,
                "bytes": reading.bytes,
                "readings": (),
            }
        )


class Audit(Record):
    """A relation that a source states or relies on between figures, its own or another source's.

    It is phrased as the source has it: where the figures bear it out it is consistent.
    """

    id: Identifier
    statement: str
    place: SourcePlace
    claimed: Operand | None = None
    """The figure the relation should give; None for a formula that claims none (an order, say)."""
    formula: Formula
    operands: Annotated[tuple[Operand, ...], Field(min_length=1)]
    assumes: str | None = None
    """What it takes that the source does not print: then it is listed apart and counts apart."""
    leads: bool = False
    """Whether it is named first among those that do not hold."""
    note: str | None = None
    sentence: Identifier | None = None
    """As a claim's."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Audit":
        if (self.claimed is not None) != self.formula.claims_a_figure:
            needs = "needs" if self.formula.claims_a_figure else "claims no figure but has"
            raise ValueError(f"formula {self.formula.value} {needs} a claimed figure")
        return self


class Source(Record):
    """A document that publishes figures."""

    id: Identifier
    title: str
    date: str | None = None
    file: str | None = None
    """File name of the document; None for a project's own statements."""
    sha256: Sha256 | None = None
    """Of that file."""
    address: str | None = None
    """Where the document was had; None where that is not recorded."""
    author: str | None = None
    about: str | None = None
    """What the document is about, in one sentence."""


class SourceFinding(Record):
    """A sentence by a person on what a source's verdicts come to.

    Its figures are places that verdicts fill: ``{claim}`` is what was measured, ``{claim:claimed}``
    what the source states, ``{claim.reading}`` what a reading gives, ``{claim.reading:work}`` how
    much work its count claims for each unit done, and ``{claim:gpu}`` where. All are of the GPU
    that the source names, or of what there is; ``{claim@target}`` is of another.
    """

    says: str
    when: dict[Identifier, tuple[Status, ...]]
    """Verdicts that the sentence rests on; where one is another, the sentence is left out."""


class SourceExtras(Record):
    """What a source has beside its claims."""

    findings: tuple[SourceFinding, ...] = ()
    """Its story, most telling first."""
    original: OriginalSource | None = None
    """The source's own program, where it is in no package pinned here; it runs from a checkout that
    the user gives, and only then."""
    other_builds: tuple[OriginalSource, ...] = ()
    """The same program built with other settings, for figures of other tiles say; each is built and
    run beside it."""
    compilations: tuple[PublishedFile, ...] = ()
    """Files of the source that are compiled as published, from such a checkout."""


class SourceClaims(SourceExtras):
    """A source, and all that is claimed in it."""

    source: Source
    claims: Annotated[tuple[Claim, ...], Field(min_length=1)]
    audits: tuple[Audit, ...] = ()
    commands: tuple[OriginalSource, ...] = ()
    """Programs of a project, which run in a copy of its files."""

    @property
    def own_programs(self) -> tuple[OriginalSource, ...]:
        """Return every program that prints figures of the source."""
        first = (self.original,) if self.original else ()
        return (*first, *self.other_builds, *self.commands)

    def program_of(self, claim: str) -> OriginalSource | None:
        """Return the program that prints a claim's figure; None where none does."""
        programs = (each for each in self.own_programs if each.figure_of(claim))
        return next(programs, None)

    def own_program(self, name: str) -> OriginalSource | None:
        """Return a program by its id; None where there is none."""
        return next((each for each in self.own_programs if each.id == name), None)
