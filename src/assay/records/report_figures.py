"""The figures of a report in short: what reports are compared by, and tell each other."""

from typing import Literal

from pydantic import Field

from assay.records.base import Identifier, Record, Sha256
from assay.records.evaluations import NotRun
from assay.records.verdicts import Status, VerdictInShort

BROKEN = frozenset({NotRun.BUILD_FAILED.value, NotRun.RUN_FAILED.value})
"""Reasons by which a report says that a figure cannot be had."""


class ReportFigure(VerdictInShort):
    """One verdict, in short."""

    protocol: str | None
    """The protocols of what it was measured by, each with a digest of its values; None where
    nothing was."""
    question: str | None
    """Digest of what is measured for the claim: figures of other questions are not comparable; None
    where nothing was measured."""
    taken_over: bool = False
    """True where an earlier report's run measured it, and not this report's."""
    better: int = 0
    """1 where more is better, -1 where less is, 0 where neither is."""
    counted_as: int | None = None
    """Number, from 0, of the thing that the report counts it as: figures of one measurement, or of
    one sentence, share it. None where the report counts the claim by its figure on another
    target."""

    @property
    def said(self) -> str:
        """Return in words how it came out; of one measured elsewhere what it would be there."""
        return f"on another GPU, {self.as_if.word}" if self.as_if else self.status.word

    @property
    def answered(self) -> bool:
        """Return whether the report answers the claim at all: that a build or a run failed is an
        answer, that nobody asked or could is none.
        """
        return self.status is not Status.NOT_RUN or self.reason in BROKEN


class ClaimInShort(Record):
    """What a report says that its source claims."""

    title: str
    """The statement, as the report's own catalog has it."""
    claimed: str
    """The figure with its unit and as many digits as the source prints; empty where there is none.
    """
    document: str = ""
    """Title of its source."""
    kind: str = ""
    """What a page counts it as: one of ``findings.headline.KINDS``."""


class OutcomeCounts(Record):
    """How many of what a page counts came out how, and on which GPU (``findings.headline``)."""

    statuses: dict[Status, int]
    """Those measured elsewhere by what they would be on the hardware that their source names."""
    away: dict[Status, int]
    """How many of each were measured on other hardware alone; none of a kind that is all such."""

    @property
    def total(self) -> int:
        """Return how many there are."""
        return sum(self.statuses.values())

    @property
    def judged(self) -> dict[Status, int]:
        """Return how many came out how, without those measured on other hardware alone."""
        left = {status: n - self.away.get(status, 0) for status, n in self.statuses.items()}
        return {status: number for status, number in left.items() if number}

    @property
    def elsewhere(self) -> int:
        """Return how many of them were measured on other hardware alone."""
        return sum(self.away.values())


class ReportMachine(Record):
    """A card that figures of a target were measured on, and when."""

    target: Identifier
    product: str
    gpu_uuid: str
    driver: str
    vbios: str | None
    power_limit_w: float | None
    recorded_at: str
    """ISO 8601."""
    commit: str | None
    """Of this repository, that measured."""

    @property
    def measurement(self) -> tuple[str, str]:
        """Return what names the measurement, whichever reports took it over."""
        return self.gpu_uuid, self.recorded_at


class ArmRate(Record):
    """One launch of one arm of a comparison: all arms of it ran in turns on one card."""

    target: Identifier
    comparison: Identifier
    title: str
    """Of the comparison."""
    operation: str
    """That the comparison is about: its control's."""
    variant: str
    """The title of what ran."""
    workload: Identifier
    shape: str
    """Of the problem, whatever of it is stored: ``m=8192, n=8192, k=8192``."""
    time_ms: float
    ci90_ms: tuple[float, float]
    tflop_per_s: float
    """Of the blocks that are stored."""
    gb_per_s: float
    """Of the bytes that must be moved."""
    roofline_fraction: float
    """Of the bound that the target's datasheet gives."""


class ReportFigures(Record):
    """What reports are compared by."""

    schema_: Literal["assay/report_figures/1"] = Field(alias="schema")
    run: Identifier
    rules: int
    commit: str | None
    """Of this repository, that judged."""
    created: str | None
    """When it was signed, by the signer's word; None of one that was read unsigned."""
    manifest_sha256: Sha256
    machines: tuple[ReportMachine, ...]
    figures: tuple[ReportFigure, ...]
    claims: dict[Identifier, ClaimInShort] = {}
    """Of the claims that the figures are of."""
    counts: dict[str, OutcomeCounts] = {}
    """How everything that a page counts came out, by its kind, one of ``findings.headline.KINDS``;
    nothing of a report that nobody vouches for."""
    rates: tuple[ArmRate, ...] = ()
    """Every arm that was timed, where they were asked for."""

    def machine(self, figure: ReportFigure | ArmRate) -> ReportMachine | None:
        """Return the card of a figure's target; None where there is none."""
        return next((each for each in self.machines if each.target == figure.target), None)
