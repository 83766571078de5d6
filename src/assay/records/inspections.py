"""The record of counts in files of pinned packages."""

from typing import Literal

from pydantic import Field

from assay.records.base import Identifier, Record, Sha256


class InspectionResult(Record):
    """Counts of a file in a pinned package."""

    claim: Identifier
    package: str
    version: str
    path: str
    lines: int
    bytes: int
    sha256: Sha256


class InspectionsRecord(Record):
    """All inspections of a run."""

    schema_: Literal["assay/inspections/1"] = Field(alias="schema")
    inspections: tuple[InspectionResult, ...]
