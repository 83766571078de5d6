"""Arithmetic over a source's own figures: operands, and the relations that the audit knows."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from assay.records.base import Identifier, Measurable, Record


class SourcePlace(Record):
    """The place of a figure in its source."""

    section: str
    """Heading under which it stands."""
    line: Annotated[int, Field(ge=1)] | None = None
    """Line number in the source file, from 1; of its page, where that is named."""
    page: Annotated[int, Field(ge=1)] | None = None
    """Of a document that has pages."""

    @model_validator(mode="after")
    def _is_found(self) -> Self:
        if self.line is None and self.page is None:
            raise ValueError("a place has a line or a page, so that a reader finds it")
        return self

    @property
    def spot(self) -> str:
        """Return where in its section it stands: ``line 12``, ``page 9``, ``page 9, line 3``."""
        parts = (("page", self.page), ("line", self.line))
        return ", ".join(f"{name} {number}" for name, number in parts if number is not None)


class OperandPlace(SourcePlace):
    """The place of an operand that is no claim of its own."""

    source: Identifier | None = None
    """The document, where it is another one than the audit's."""


class Formula(StrEnum):
    """The arithmetic that the audit knows, over operands a, b, c ... in order."""

    QUOTIENT = "quotient"  # a / b
    PRODUCT = "product"  # a * b * ...
    SUM = "sum"  # a + b + ...
    DIFFERENCE = "difference"  # a - b
    WHOLE_QUOTIENT = "whole_quotient"  # a / b rounded down: how many of b fit into a
    PERCENT_GAIN = "percent_gain"  # (a / b - 1) * 100
    PERCENT_OF = "percent_of"  # 100 * a / b
    MEAN = "mean"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    SAMPLE_STDEV = "sample_stdev"
    RATE_FROM_FLOP_AND_MS = "rate_from_flop_and_ms"  # a FLOP / b ms -> TFLOP/s
    MS_FROM_FLOP_AND_RATE = "ms_from_flop_and_rate"  # a FLOP / b TFLOP/s -> ms
    GB_PER_S_FROM_BYTES_AND_MS = "gb_per_s_from_bytes_and_ms"  # a bytes / b ms -> GB/s
    GREATER = "greater"  # a > b
    MULTIPLE = "multiple"  # a is a whole multiple of b, both exact
    AGREE = "agree"  # all are one and the same

    @property
    def claims_a_figure(self) -> bool:
        """Return whether the relation gives a figure that something printed is held against."""
        return self not in (Formula.GREATER, Formula.MULTIPLE, Formula.AGREE)


class Operand(Record):
    """A number in an arithmetic check: a claim's value, a literal, or what a formula gives.

    A claim may be one of another source.
    """

    claim: Identifier | None = None
    value: Measurable | None = None
    to: Measurable | None = None
    """Upper end, where the source prints a range whose lower end is ``value``."""
    formula: Formula | None = None
    operands: tuple["Operand", ...] = ()
    """Of ``formula``."""
    resolution: Measurable | None = None
    """One unit of the last printed digit of ``value``; 0 for exact counts. Beside a claim it takes
    the place of the claim's own."""
    what: str | None = None
    """What a literal stands for."""
    place: OperandPlace | None = None
    """Where a literal stands; a claim has its own place."""

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        literal, computed = self.value is not None, self.formula is not None
        if [literal, computed, self.claim is not None].count(True) != 1:
            raise ValueError("an operand names either a claim or a value or a formula")
        if literal and (self.resolution is None or self.what is None):
            raise ValueError("a literal operand states its resolution and what it stands for")
        if computed != bool(self.operands):
            raise ValueError("a formula comes with its operands, and they with a formula")
        if self.formula is not None and not self.formula.claims_a_figure:
            raise ValueError(f"{self.formula.value} gives no figure to compute with")
        if computed and self.resolution is not None:
            raise ValueError("what a formula gives has no printed digit: it takes no resolution")
        if self.place is not None and not literal:
            raise ValueError("only a literal has a place of its own")
        if self.to is not None and (self.value is None or self.to < self.value):
            raise ValueError("'to' is the upper end of a range that starts at 'value'")
        return self

    def parts(self) -> Iterator["Operand"]:
        """Yield the operand itself and all that its formula is made of."""
        yield self
        for operand in self.operands:
            yield from operand.parts()
