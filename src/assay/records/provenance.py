"""How the binaries of a report were made: in-toto Statement v1 with SLSA provenance v1.

Field names are those of the two specifications (https://slsa.dev/provenance/v1,
https://in-toto.io/Statement/v1); what is ours is below ``externalParameters`` and
``internalParameters``. Written without the fields that are None, which both take for unset.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from assay.records.base import Identifier, Record
from assay.records.images import ImageBase, Role, RuntimeName

SLSA_PROVENANCE: Literal["https://slsa.dev/provenance/v1"] = "https://slsa.dev/provenance/v1"
BUILD_TYPE: Literal["urn:assay:build:1"] = "urn:assay:build:1"
"""What docs/predicate.md describes. A change in what is derived from the same evidence is another
build type: statements of earlier ones are then listed as unproven."""
HEXADECIMAL = frozenset("0123456789abcdef")


def _in_hexadecimal(digests: dict[str, str]) -> dict[str, str]:
    if not digests or any(not value or set(value) - HEXADECIMAL for value in digests.values()):
        raise ValueError("a digest set holds lower-case hexadecimal digests, at least one")
    return digests


DigestsByAlgorithm = Annotated[dict[str, str], AfterValidator(_in_hexadecimal)]


class ResourceDescriptor(Record):
    """A file or package that went into a build, or came out of it."""

    name: str | None = None
    uri: str | None = None
    """A package URL, where an index names it."""
    digest: DigestsByAlgorithm | None = None
    annotations: dict[str, str | bool | tuple[str, ...]] | None = None

    @model_validator(mode="after")
    def _is_named(self) -> "ResourceDescriptor":
        if self.uri is None and self.digest is None:
            raise ValueError("a resource has a URI or a digest")
        return self


class BuiltSubject(Record):
    """One thing that was built: by its name and its digest."""

    name: str
    digest: DigestsByAlgorithm
    annotations: dict[str, str] | None = None


class BinaryParameters(Record):
    """What was asked of the compiler for one binary."""

    id: Identifier
    kind: Literal["variant", "program", "probe"]
    arch: str
    command: tuple[str, ...]
    """Of nvcc, with its flags, paths relative to the build directory."""
    subject: str
    """Name of the subject that it made."""
    built_elsewhere: bool = Field(alias="builtElsewhere")
    """Whether another machine compiled it, from the same sources by the same command."""


class ImageParameters(Record):
    """What one image was made by."""

    target: Identifier
    role: Role
    runtime: RuntimeName
    definition: str
    """SHA-256 of all that defines it: Dockerfile, locks, base, epoch."""
    base: ImageBase
    subject: str


class ExternalParameters(Record):
    """The wishes that a run was started with, as far as they decide what is built."""

    run: Identifier
    targets: tuple[Identifier, ...]
    builds: tuple[BinaryParameters, ...]
    images: tuple[ImageParameters, ...]


class UsedToolchain(Record):
    """A compiler that the builds name."""

    nvcc: str
    host_compiler: str = Field(alias="hostCompiler")
    runtime: str
    image_id: str | None = Field(None, alias="imageId")
    lock_sha256: str = Field(alias="lockSha256")


class InternalParameters(Record):
    """What the machine brought along."""

    toolchains: tuple[UsedToolchain, ...]


class BuildDefinition(Record):
    """The input of the builds."""

    build_type: Literal["urn:assay:build:1"] = Field(alias="buildType")
    external_parameters: ExternalParameters = Field(alias="externalParameters")
    internal_parameters: InternalParameters = Field(alias="internalParameters")
    resolved_dependencies: tuple[ResourceDescriptor, ...] = Field(alias="resolvedDependencies")


class Builder(Record):
    """Who is trusted to have built what the statement says."""

    id: Annotated[str, Field(pattern=r"^urn:assay:builder:[a-z+]+:1$")]


class BuildMetadata(Record):
    """When the builds ran."""

    invocation_id: Identifier = Field(alias="invocationId")
    """Name of the run."""
    started_on: str | None = Field(None, alias="startedOn")
    finished_on: str | None = Field(None, alias="finishedOn")
    """UTC; None where nobody kept how long steps took."""


class RunDetails(Record):
    """One execution of the builds."""

    builder: Builder
    metadata: BuildMetadata
    byproducts: tuple[ResourceDescriptor, ...]


class ProvenancePredicate(Record):
    """SLSA provenance v1."""

    build_definition: BuildDefinition = Field(alias="buildDefinition")
    run_details: RunDetails = Field(alias="runDetails")


class ProvenanceStatement(Record):
    """In-toto Statement v1, the payload of ``provenance.json``."""

    type_: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: Annotated[tuple[BuiltSubject, ...], Field(min_length=1)]
    predicate_type: Literal["https://slsa.dev/provenance/v1"] = Field(alias="predicateType")
    predicate: ProvenancePredicate
