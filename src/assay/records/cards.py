"""Several GPUs of one product in one machine, held against each other in the same run."""

from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import GpuRecord, Identifier, Moment, Record
from assay.records.measurements import BenchmarkRecord, CorrectnessRecord

CardSetting = Literal["alone", "beside"]


class CardRun(Record):
    """One benchmark of one GPU, and what its neighbours did meanwhile."""

    phase: Annotated[int, Field(ge=0)]
    """Runs of one phase began together."""
    setting: CardSetting
    """``alone``: no other GPU of the run worked; ``beside``: each of ``neighbours`` timed the same
    comparison."""
    neighbours: tuple[str, ...]
    """By UUID."""
    benchmark: BenchmarkRecord


class CardsRecord(GpuRecord):
    """Whether GPUs of one machine disturb each other, and how far they lie apart.

    No verdict rests on it. ``gpu_uuid`` is the GPU that was measured alone, too.
    """

    schema_: Literal["assay/cards/1"] = Field(alias="schema")
    target: Identifier
    recorded_at: Moment
    status: Literal["collected", "failed"]
    detail: str
    """Why there is nothing, where it failed; else what was left out, and why."""
    control: Identifier
    """The comparison that was timed alone and beside busy neighbours."""
    gates: tuple[CorrectnessRecord, ...]
    """Of every comparison, on every GPU."""
    runs: tuple[CardRun, ...]
