"""The statement that a signature makes: in-toto v1 about a report's manifest, and the pipeline."""

from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import Identifier, Record, Sha256
from assay.records.platform import PackageDirectory
from assay.records.verdicts import Status
from assay.records.workloads import Judging

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
    host_paths: tuple[PackageDirectory, ...] | None = None
    """Where the Python of the pipeline looked for packages before its own; None: not recorded."""
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
    """Of the payload of ``provenance.json``; None where nothing was built, and in statements from
    before."""
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
