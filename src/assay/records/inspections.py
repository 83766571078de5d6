"""The record of counts in files of pinned packages."""

from typing import Literal

from pydantic import Field

from assay.records.base import Identifier, Record, Sha256


class InspectionResult(Record):
    """Counts of a file in a pinned package, or of all files of a folder together."""

    claim: Identifier
    package: str
    version: str
    path: str
    lines: int
    bytes: int
    sha256: Sha256
    """Of the file; of a folder, that of a list of its files, each with its own."""
    text: str | None = None
    """What was counted beside lines and bytes."""
    matches: int | None = None
    """How often ``text`` stands there."""


class InspectionsRecord(Record):
    """All inspections of a run."""

    schema_: Literal["assay/inspections/1"] = Field(alias="schema")
    inspections: tuple[InspectionResult, ...]
