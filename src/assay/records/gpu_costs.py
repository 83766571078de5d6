"""The time that each unit of work took on a GPU the last time, by which GPUs share them out."""

from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import Identifier, Measurable, Record


class GpuCost(Record):
    """One unit on one target."""

    target: Identifier
    unit: Identifier
    """A comparison, or a program with its list of arguments."""
    gate_seconds: Measurable
    """Of a comparison: its correctness; 0 of a program."""
    seconds: Measurable
    """Of a comparison: its benchmark, in a process that has imported what it needs."""


class GpuCosts(Record):
    """``config/gpu_costs.json``, which ``tools.gpu_costs`` writes from published reports."""

    schema_: Literal["assay/gpu_costs/1"] = Field(alias="schema")
    start_seconds: Annotated[float, Field(gt=0)]
    """Of a benchmark step: what passes before its first unit, mostly imports; the longest."""
    costs: tuple[GpuCost, ...]
