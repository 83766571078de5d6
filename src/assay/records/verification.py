"""The result of verifying a report, for programs: what ``./assay verify --json`` prints."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from assay.records.base import Record


class ProofState(StrEnum):
    """What came of a check, or of all checks of a part."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    """No check failed, and something is left that nothing here could prove."""
    FAILED = "failed"
    NOT_CHECKED = "not_checked"
    """Not looked at: what it rests on does not hold, it was not asked for, or cannot be done."""


class CheckEntry(Record):
    """One check of a report."""

    id: str
    """Its name in docs/verifying.md."""
    state: ProofState
    code: str | None
    """Of a failed check its cause, of one that was not made ``not-checked``; in kebab-case."""
    says: str
    """What was found, in words, which may change; empty where nothing of it could be proven."""
    unproven: tuple[str, ...]
    """What it could not prove."""

    @property
    def passed(self) -> bool:
        """Return whether it was made, and did not fail."""
        return self.state in (ProofState.PROVEN, ProofState.UNPROVEN)


class GuaranteeEntry(Record):
    """One of the six things that a verified report guarantees."""

    id: str
    """Its name in docs/verifying.md."""
    state: ProofState
    """Failed where one of its checks did; else not checked where one was not made; else unproven
    where one left something; else proven."""
    says: str


class SignerEntry(Record):
    """A trusted key that signed."""

    keyid: str
    name: str
    """The verifier's own name for it."""


class Replication(Record):
    """How often figures were measured again, and whether the verdicts agree."""

    signers: int
    cards: int
    """GPUs that the figures themselves were not measured on."""
    measurements: int
    """A figure that two further runs measured counts as two."""
    verdicts: int
    """Of these measurements those that the same rules judged."""
    agree: int
    """Of these verdicts those that are that of the figure."""


class MeasuredAgain(Record):
    """Who measured the figures of a report again, as far as reports beside it say."""

    by_others: Replication
    by_signer: Replication


class VerificationRecord(Record):
    """The result of ``./assay verify --json``, whatever it comes to."""

    schema_: Literal["assay/verification/2"] = Field(alias="schema")
    report: str
    """The directory or archive, as it was named."""
    verified: bool
    """Whether no check failed and none that was due is missing: exit code 0."""
    exit_code: int
    code: str | None
    """What ended it, for programs: of failed checks that of the first; None where it verified."""
    error: str | None
    """The same in words."""
    run: str | None
    """As signed; like what follows None unless a trusted key vouches for all files."""
    commit: str | None
    created: str | None
    project: str | None = None
    """SHA-256 of the project whose claims are judged, which are the signers' own; None where they
    are those of Assay's sources."""
    project_title: str | None = None
    """Its name, as its signers wrote it."""
    signers: tuple[SignerEntry, ...]
    guarantees: tuple[GuaranteeEntry, ...]
    checks: tuple[CheckEntry, ...]
    """In the order in which they ran."""
    notes: tuple[str, ...]
    """Things worth knowing that are no failures."""
    measured_again: MeasuredAgain | None = None
    """None where the report does not verify."""
