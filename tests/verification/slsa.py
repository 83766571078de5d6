"""SLSA provenance v1 in an in-toto Statement v1, as their specifications have it: nothing of ours.

Sources: https://slsa.dev/spec/v1.0/provenance (schema; what is REQUIRED for Build L1),
https://github.com/in-toto/attestation/tree/main/spec/v1 (Statement, ResourceDescriptor, DigestSet).
Unknown fields are refused, though consumers have to ignore them: we mean to write none.
"""

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

DIGEST_LENGTHS = {"sha256": 64, "gitCommit": 40}
"""Characters, of the algorithms that in-toto's DigestSet names and that occur here."""


def _uri(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+", text):
        raise ValueError(f"'{text}' is no URI with a scheme")
    return text


def _rfc3339(text: str) -> str:
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", text):
        raise ValueError(f"'{text}' is no time of RFC 3339 in UTC")
    datetime.fromisoformat(text)
    return text


def _digests(digests: dict[str, str]) -> dict[str, str]:
    for algorithm, digest in digests.items():
        if not re.fullmatch(rf"[0-9a-f]{{{DIGEST_LENGTHS[algorithm]}}}", digest):
            raise ValueError(f"{digest} is no {algorithm}")
    return digests


Uri = Annotated[str, AfterValidator(_uri)]
Time = Annotated[str, AfterValidator(_rfc3339)]
DigestSet = Annotated[dict[str, str], Field(min_length=1), AfterValidator(_digests)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Resource(_Strict):
    name: str | None = None
    uri: Uri | None = None
    digest: DigestSet | None = None
    content: str | None = None
    downloadLocation: Uri | None = None  # noqa: N815 - as the specification spells it
    mediaType: str | None = None  # noqa: N815
    annotations: dict[str, JsonValue] | None = None

    @model_validator(mode="before")
    @classmethod
    def _minimum(cls, given: dict[str, Any]) -> dict[str, Any]:
        if not given.keys() & {"uri", "digest", "content"}:
            raise ValueError("a ResourceDescriptor MUST specify one of uri, digest or content")
        if None in given.values():
            raise ValueError("what is unset is left out")
        return given


class Subject(Resource):
    """Of a Statement: a digest is required, and a name tells subjects apart."""

    name: str
    digest: DigestSet


class BuildDefinition(_Strict):
    buildType: Uri  # noqa: N815
    externalParameters: Annotated[dict[str, JsonValue], Field(min_length=1)]  # noqa: N815
    internalParameters: dict[str, JsonValue] | None = None  # noqa: N815
    resolvedDependencies: list[Resource] | None = None  # noqa: N815

    @model_validator(mode="after")
    def _apart(self) -> "BuildDefinition":
        if self.externalParameters.keys() & (self.internalParameters or {}).keys():
            raise ValueError("a name SHOULD NOT be used for both kinds of parameters")
        return self


class Builder(_Strict):
    id: Uri
    version: dict[str, str] | None = None
    builderDependencies: list[Resource] | None = None  # noqa: N815


class Metadata(_Strict):
    invocationId: str | None = None  # noqa: N815
    startedOn: Time | None = None  # noqa: N815
    finishedOn: Time | None = None  # noqa: N815


class RunDetails(_Strict):
    builder: Builder
    metadata: Metadata | None = None
    byproducts: list[Resource] | None = None


class Provenance(_Strict):
    buildDefinition: BuildDefinition  # noqa: N815
    runDetails: RunDetails  # noqa: N815


class SlsaStatement(_Strict):
    """The whole of it."""

    type_: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: Annotated[list[Subject], Field(min_length=1)]
    predicateType: Literal["https://slsa.dev/provenance/v1"]  # noqa: N815
    predicate: Provenance

    @model_validator(mode="after")
    def _distinct(self) -> "SlsaStatement":
        names = [each.name for each in self.subject]
        if len(set(names)) < len(names):
            raise ValueError("a subject's name is given twice")
        return self
