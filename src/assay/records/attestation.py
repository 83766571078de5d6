"""What is signed, by whom, and which keys are trusted: manifest, statement, public keys."""

from datetime import date
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints, model_validator

from assay.records.base import Identifier, Record, Sha256, Unread
from assay.records.builds import FileDigest
from assay.records.verdicts import Status
from assay.records.workloads import Judging

MANIFEST: Final = "manifest.json"
ATTESTATION: Final = "attestation.json"
PROVENANCE: Final = "provenance.json"
SIGNER: Final = "signer.pub"
VERDICTS: Final = "verdicts.json"
PAGE: Final = "report.html"
APPENDIX: Final = "appendix.html"
TEXT: Final = "report.md"
TEXTS: Final = (PAGE, APPENDIX, TEXT)
"""What people read; reports from before have no appendix."""


class Manifest(Record):
    """``manifest.json``: every file of a report but itself, the attestation and the public key."""

    schema_: Literal["assay/manifest/1"] = Field(alias="schema")
    run: Identifier
    files: Annotated[tuple[FileDigest, ...], Field(min_length=1)]
    """Sorted by path; paths are relative, with forward slashes, never through a link."""


STATEMENT_TYPE: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Literal["urn:assay:report:1"] = "urn:assay:report:1"


class SigningKey(Record):
    """The key that a report is to be signed with, as known before it is signed."""

    keyid: Sha256
    """By which ``verify`` and ``./assay key show`` name it: a digest of the key itself."""
    public: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Its public half: the 32 bytes of Ed25519, in hexadecimal digits."""
    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """What the notes of the signer's own trusted keys call it; None where they do not have it."""


class PipelineRecord(Record):
    """``evidence/pipeline.json``: the state of this repository when the report was made."""

    schema_: Literal["assay/pipeline/1"] = Field(alias="schema")
    commit: str | None
    clean_tree: bool | None
    """None where no git told."""
    host_paths: Unread = None
    signing_key: SigningKey | None = None
    """With which the report is signed, so that its page can name it; None: not recorded."""


class DigestSet(Record):
    """The digests of a subject; SHA-256 alone."""

    sha256: Sha256


class SignedFile(Record):
    """The one file a statement is about."""

    name: Literal["manifest.json"]
    digest: DigestSet


class Predicate(Record):
    """The facts on the manifest beyond its digest."""

    run: Identifier
    commit: str | None
    judging: Judging
    """Margins and confidence, as declared before the run."""
    verdicts: dict[Status, int]
    """Verdicts of each status; statuses without a verdict are left out."""
    counts: dict[str, dict[Status, int]] | None = None
    """The same counted by measurement, speed figures, own claims, probes and arithmetic apart
    (``judging.counts``); None in statements from before."""
    provenance: Sha256 | None = None
    """Of the payload of ``provenance.json``, which earlier versions signed beside it."""
    project: Sha256 | None = None
    """Of all files of the project whose claims are judged, which are the signer's own; None where
    they are those of this repository's sources."""
    created: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    """When the report was signed: UTC, or SOURCE_DATE_EPOCH where that is set."""


class Statement(Record):
    """In-toto Statement v1, the payload of a report's DSSE envelope."""

    type_: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: Annotated[tuple[SignedFile, ...], Field(min_length=1, max_length=1)]
    predicate_type: Literal["urn:assay:report:1"] = Field(alias="predicateType")
    predicate: Predicate


KeyFileName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\.pub$", max_length=80)
]
KeyName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$", max_length=80)]
RevocationReason = Annotated[
    str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$", max_length=300)
]


class Revocation(Record):
    """Why a key is no longer believed, whatever date a report of it bears."""

    day: date
    reason: RevocationReason


class TrustedKeyEntry(Record):
    """One public key, beside the file that names it."""

    file: KeyFileName
    name: KeyName
    """Of the key, as ``verify`` calls it."""
    holder: KeyName | None = None
    """Who signs with it: keys of one holder count as one signer where figures were measured again.
    """
    from_: date | None = Field(None, alias="from")
    """First day, in UTC, on which a report may say that it was signed."""
    until: date | None = None
    """The last such day."""
    revoked: Revocation | None = None

    @model_validator(mode="after")
    def _in_order(self) -> "TrustedKeyEntry":
        if self.from_ and self.until and self.until < self.from_:
            raise ValueError(f"{self.file}: 'until' lies before 'from'")
        return self


class TrustedKeysFile(Record):
    """``keys.yaml``: every public key of its folder."""

    schema_: Literal["assay/trusted_keys/1"] = Field(alias="schema")
    threshold: Literal[1] = 1
    """Keys that must have signed a report. Earlier versions could ask for more."""
    keys: Annotated[tuple[TrustedKeyEntry, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _each_once(self) -> "TrustedKeysFile":
        for values in ([key.file for key in self.keys], [key.name for key in self.keys]):
            if len(set(values)) < len(values):
                raise ValueError("a file or a name is given twice")
        if all(key.revoked is not None for key in self.keys):
            raise ValueError("every key is revoked")
        return self
