"""Counts in files of pinned packages, and which device code optional packages hold."""

from typing import Annotated, Literal

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


class SharedObject(Record):
    """One binary of an optional package."""

    path: str
    """As its package lists it."""
    bytes: Annotated[int, Field(ge=0)]
    sha256: Sha256


class ArchCode(Record):
    """What the binaries hold for one architecture."""

    arch: str
    """As the compiler names it: sm_80, sm_90a."""
    form: Literal["cubin", "ptx"]
    files: Annotated[int, Field(ge=1)]
    """Embedded files of this form."""
    kernels: Annotated[int, Field(ge=0)]
    """Functions in them whose names hold the text that is sought; of PTX, entry points."""


class DeviceCodeResult(Record):
    """The device code of an optional package, as looked for on behalf of one claim."""

    claim: Identifier
    rival: Identifier
    package: str
    kernels: str
    """The text that was sought in names."""
    status: Literal["inspected", "not_installed", "failed"]
    version: str | None = None
    """Of the package that was found."""
    tool: str | None = None
    """What read the binaries, with its version."""
    objects: tuple[SharedObject, ...] = ()
    code: tuple[ArchCode, ...] = ()
    detail: str = ""
    """Why nothing was inspected."""


class InspectionsRecord(Record):
    """All inspections of a run."""

    schema_: Literal["assay/inspections/1"] = Field(alias="schema")
    inspections: tuple[InspectionResult, ...]
    device_code: tuple[DeviceCodeResult, ...] = ()
