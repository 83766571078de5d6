"""Readings: other meanings of a claim's words, and how a rate counts its work."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import Identifier, Record
from assay.records.evaluations import Benchmark, Derived, Formulated, Program, Unanswerable

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
