"""Images that jobs run in: the description of one, and the image as an engine tells it."""

from typing import Annotated, Literal, TypeGuard, get_args

from pydantic import Field, StringConstraints

from assay.records.base import Identifier, PathBelow, Record, Sha256, Symbol

Role = Literal["toolchain", "runner"]
"""``toolchain`` compiles: nvcc, CUTLASS, g++. ``runner`` measures: PyTorch and what it needs."""
EngineName = Literal["docker", "podman"]
"""Runtimes with a daemon or a service, whose command lines take the same words."""
RuntimeName = Literal[EngineName, "apptainer", "host"]
RuntimeWish = Literal["auto", RuntimeName]
"""``auto``: the first that works, in that order."""
ImageDigest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


def is_engine(name: str) -> TypeGuard[EngineName]:
    """Return whether a runtime is a container engine, with images of its own."""
    return name in get_args(EngineName)


class DebianPackage(Record):
    """One installed Debian package."""

    name: str
    version: str
    architecture: str


class PythonPackage(Record):
    """One installed Python distribution."""

    name: str
    version: str
    file: str | None
    """The wheel it was installed from; None for what a base or a host brought along."""
    sha256: Sha256 | None
    """Digest of that wheel."""


class ImageBase(Record):
    """The base that an image starts from."""

    kind: Literal["debian", "registry", "host"]
    """``debian``: made by mmdebstrap from Debian packages; ``host``: the file system of the GPU
    machine itself, where nothing else can be had; ``registry``: pulled, by earlier versions."""
    reference: str
    """Suite and epoch; or name@digest; or the host's distribution."""
    sha256: Sha256 | None
    """Digest of the base's archive, of images that earlier versions made."""


class ImageRecord(Record):
    """One image, with all it was made from. Layers and id are what the engine says of it."""

    schema_: Literal["assay/image/1"] = Field(alias="schema")
    target: Identifier
    role: Role
    runtime: RuntimeName
    engine: str
    """Name and version of the engine that was asked."""
    definition: Sha256
    """Digest of everything that defines the image: packages, locks, script, variables, epoch."""
    tag: str
    image_id: ImageDigest
    """As the engine names it; containers are started by it, never by the tag."""
    layers: Annotated[tuple[ImageDigest, ...], Field(min_length=1)]
    """Digests of the uncompressed layers, lowest first."""
    architecture: Literal["amd64"]
    bytes: Annotated[int, Field(ge=0)]
    """Size of the unpacked layers."""
    base: ImageBase
    dockerfile_sha256: Sha256 | None
    """Digest of the rendered Dockerfile, of images that earlier versions made."""
    debian_packages: tuple[DebianPackage, ...]
    python_packages: tuple[PythonPackage, ...]
    sbom_sha256: Sha256 | None = None
    """Of a bill of materials beside this record, in reports of earlier versions."""
    sif_sha256: Sha256 | None = None
    """Digest of the SIF file that Apptainer runs; SIF files of one image are never identical."""
    nsight_compute: str | None = None
    """Path of ncu inside the image, where it holds one."""


AbsolutePath = Annotated[str, StringConstraints(pattern=r"^/[A-Za-z0-9@._+/-]*$")]
DebianName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9+.-]+$")]


class BaseInputs(Record):
    """The inputs of the base that both images start from."""

    suite: Annotated[str, StringConstraints(pattern=r"^[a-z]+$")]
    """Debian release."""
    component: Annotated[str, StringConstraints(pattern=r"^[a-z-]+$")]
    source_date_epoch: Annotated[int, Field(gt=0)]
    """Newest time stamp in an image, in seconds since 1970."""


class RoleInputs(Record):
    """The additions of one role to the base."""

    lock: PathBelow
    """Hash-pinned wheels, a path below the repository's root."""
    site: AbsolutePath | None
    """Directory the wheels are unpacked into; None for Python's own site-packages."""
    debian_packages: Annotated[tuple[DebianName, ...], Field(min_length=1)]


class HostImport(Record):
    """The part of a machine's own file system that becomes a runner image."""

    include: Annotated[tuple[AbsolutePath, ...], Field(min_length=1)]
    exclude: tuple[str, ...]
    """Patterns of tar without the leading slash; an asterisk matches slashes too."""


class ImagesFile(Record):
    """``containers/images.yaml``."""

    schema_: Literal["assay/images/1"] = Field(alias="schema")
    base: BaseInputs
    roles: Annotated[dict[Role, RoleInputs], Field(min_length=2)]
    environment: dict[Symbol, str]
    """Variables of every container."""
    labels: dict[str, str]
    host_import: HostImport
