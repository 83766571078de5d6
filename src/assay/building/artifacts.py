"""Compiled artifacts beside the records that name them."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from assay.base.errors import CheckFailed
from assay.records.builds import BuildRecord, FileDigest
from assay.shared.files import sha256_file
from assay.shared.specs import ArtifactSpec

Builds: TypeAlias = Mapping[str, tuple[BuildRecord, Path]]
"""Variant to its build record and its library (any path, where it did not compile)."""


def as_recorded(build: BuildRecord, path: Path) -> FileDigest:
    """Return what ``build`` says of its artifact, which is the file at ``path``.

    Raises CheckFailed when that is another file, or the record has none.
    """
    if build.artifact is None or sha256_file(path) != build.artifact.sha256:
        raise CheckFailed(f"{path}: is not the file that the build record of {build.id} names")
    return build.artifact


def told_to_device(build: BuildRecord, path: Path) -> ArtifactSpec:
    """Return the artifact as a job names it; raises as ``as_recorded``."""
    return ArtifactSpec(str(path.resolve()), as_recorded(build, path).sha256)
