"""The cost of each compilation the last time, from which the workflow orders them."""

from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import Identifier, Measurable, Record


class BuildCost(Record):
    """One compilation."""

    id: Identifier
    """Variant, program or probe."""
    arch: str
    cpu_seconds: Measurable
    """Processor time: what a compiler takes alone on a core, whatever else the machine does."""
    peak_bytes: Annotated[int, Field(ge=0)]
    """Resident memory of the largest process."""


class BuildCosts(Record):
    """``config/build_costs.json``, which ``tools.build_costs`` writes from build records."""

    schema_: Literal["assay/build_costs/1"] = Field(alias="schema")
    host_compiler: str
    """First line of ``g++ --version``, where they were compiled."""
    processor: str
    """Its model name, as the kernel gives it."""
    costs: tuple[BuildCost, ...]
