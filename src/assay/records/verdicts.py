"""Verdicts: what the evidence says of each claim."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from assay.records.base import Identifier, Record, Sha256


class Status(StrEnum):
    """See the design: equivalence within a declared margin, never a mean alone."""

    REPRODUCED = "reproduced"
    EXCEEDED = "exceeded"
    NOT_REPRODUCED = "not_reproduced"
    INCONCLUSIVE = "inconclusive"
    INCORRECT = "incorrect"
    CONSISTENT = "consistent"
    INCONSISTENT = "inconsistent"
    NOT_RUN = "not_run"


class Nearest(Record):
    """The nearest measured thing, shown beside a claim that has no answer of its own."""

    what: str
    """Claim id, or "arm of comparison" in words."""
    target: Identifier | None
    measured: float | None
    unit: str | None
    ci90: tuple[float, float] | None


class MeasuredOn(Record):
    """Where and when a figure was measured."""

    product: str
    uuid: str
    driver: str
    power_limit_w: float | None
    recorded_at: str
    in_this_run: bool
    """False when the figure comes from a published report's evidence."""
    vbios: str | None = None


class Verdict(Record):
    """One claim on one target."""

    claim: Identifier
    source: Identifier
    target: Identifier | None
    status: Status
    claimed: float | str | None
    measured: float | str | None
    unit: str | None
    ci90: tuple[float, float] | None
    artifact: Literal["original", "reimplemented", "arithmetic", "inspection"] | None
    reason: str | None
    """Code, for not_run and for reproductions that fail for a nameable cause."""
    explanation: str
    """One or two sentences that name what was run and how it stands to the claim."""
    relation: str
    margin: float | None
    noise_floor: float | None
    """Largest |log ratio| inside the A/A control's interval, as a fraction."""
    samples: int | None
    discarded_blocks: int | None
    roofline_fraction: float | None
    """Measured rate over the roofline bound of the target's datasheet."""
    binary_sha256: Sha256 | None
    gpu_uuid: str | None
    measured_on: MeasuredOn | None
    ran: str | None
    """The problem that really ran, as the program or the record reports it."""
    nearest: tuple[Nearest, ...]
    same_measurement: tuple[Identifier, ...] = ()
    """Other claims judged by the very same samples: their verdicts are not independent of this."""
    evidence: tuple[str, ...]
    """Paths inside the report directory."""


class VerdictsFile(Record):
    """``verdicts.json``."""

    schema_: Literal["assay/verdicts/1"] = Field(alias="schema")
    run: Identifier
    verdicts: tuple[Verdict, ...]
