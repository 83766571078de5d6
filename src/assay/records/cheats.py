"""The record of kernels that cheat, and of what caught them."""

from typing import Literal

from pydantic import Field, model_validator

from assay.records.base import GpuRecord, Identifier, Moment, Record


class CheatOutcome(Record):
    """A kernel that cheats, and what caught it."""

    name: Identifier
    what: str
    meant: str | None
    """The check that must catch it, ``timed_run``, or None for the honest kernel."""
    caught_by: tuple[str, ...]
    as_meant: bool
    """Whether ``meant`` is among ``caught_by``; of the honest kernel, whether nothing is."""
    timed_run: str
    """What the timed launches came to, in words."""
    ended: bool | None = None
    """Whether its process came to a result; None in evidence from before this was recorded."""

    @model_validator(mode="after")
    def _meant_is_what_caught_it(self) -> "CheatOutcome":
        caught = self.meant in self.caught_by if self.meant else not self.caught_by
        if self.as_meant and not caught:
            raise ValueError(f"{self.name} is as meant, but what caught it says otherwise")
        return self


class CheatsRecord(GpuRecord):
    """Every cheat on one GPU."""

    schema_: Literal["assay/cheats/1"] = Field(alias="schema")
    target: Identifier
    recorded_at: Moment
    cheats: tuple[CheatOutcome, ...]
    status: Literal["collected", "failed"] = "collected"
    """``failed``: none was tried to its end, and ``detail`` says why."""
    detail: str = ""

    @model_validator(mode="after")
    def _collected_beside_an_honest_one(self) -> "CheatsRecord":
        if self.status == "failed":
            if self.cheats:
                raise ValueError("the record is failed but holds cheats")
        elif not {True, False} <= {cheat.meant is None for cheat in self.cheats}:
            raise ValueError("collected, but without cheats or without the honest kernel")
        return self
