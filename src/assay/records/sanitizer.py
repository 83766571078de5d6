"""Findings of compute-sanitizer in the compiled kernels, at small shapes; no timing stands here."""

from typing import Literal

from pydantic import Field, model_validator

from assay.records.base import GpuRecord, Identifier, Measurable, Moment, Record, Sha256

Tool = Literal["memcheck", "racecheck", "synccheck"]


class SanitizerControl(Record):
    """A kernel that does wrong on purpose: a tool that does not catch it would catch nothing."""

    tool: Tool
    caught: bool
    detail: str
    """The tool's first words, or why there are none."""


class Sanitized(Record):
    """One compiled variant under one tool."""

    variant: Identifier
    tool: Tool
    status: Literal["clean", "warnings", "errors", "unsupported", "failed"]
    """``unsupported``: it refused every shape; ``failed``: it crashed, or the tool said nothing."""
    shapes: tuple[str, ...]
    """Shapes that it was launched at and that came to their end."""
    errors: int = Field(ge=0)
    warnings: int = Field(ge=0)
    messages: tuple[str, ...]
    """The first lines of what the tool printed; the counts are of all findings."""
    detail: str
    binary_sha256: Sha256 | None

    @model_validator(mode="after")
    def _status_fits_counts(self) -> "Sanitized":
        found = "errors" if self.errors else "warnings" if self.warnings else None
        if (self.status if self.status in ("errors", "warnings") else None) != found:
            raise ValueError(f"{self.variant} under {self.tool}: its counts are not {self.status}")
        if self.status == "clean" and not self.shapes:
            raise ValueError(f"{self.variant} under {self.tool} is clean but was never launched")
        return self


class SanitizerRecord(GpuRecord):
    """Every tool over every compiled variant of a target."""

    schema_: Literal["assay/sanitizer/1"] = Field(alias="schema")
    target: Identifier
    recorded_at: Moment
    status: Literal["collected", "not_installed", "failed"]
    detail: str
    version: str | None
    controls: tuple[SanitizerControl, ...]
    runs: tuple[Sanitized, ...]
    seconds: Measurable

    @model_validator(mode="after")
    def _tools_were_shown_their_controls(self) -> "SanitizerRecord":
        if unproved := {run.tool for run in self.runs} - {one.tool for one in self.controls}:
            raise ValueError(f"no control for {', '.join(sorted(unproved))}")
        if self.status != "collected" and self.runs:
            raise ValueError(f"the record is {self.status} but holds findings")
        return self
