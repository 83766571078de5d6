"""Measured binaries beside those that a run compiled: the same file, the same device code, or not.

Pure. The device code of a binary that was measured elsewhere is what its own build record says.
"""

from enum import StrEnum
from typing import NamedTuple

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.judging.gates import timed_binaries
from assay.records.builds import BuildRecord


class Sameness(StrEnum):
    """The likeness of a measured binary to the one that was compiled in this run."""

    FILE = "file"
    """The same, byte for byte."""
    DEVICE_CODE = "device_code"
    """All device code is the same, byte for byte; host code, by another compiler, is not."""
    INSTRUCTIONS = "instructions"
    """The same machine code, from another text of the source: line tables differ."""
    LINE_TABLES = "line_tables"
    """By another host compiler, whose headers the device code's line tables name: other digests,
    which say nothing of the instructions. ``verify --rebuild`` looks inside."""
    CHANGED = "changed"
    """Its source has another text by now, and other machine code."""
    OTHER = "other"
    """Another, or this run could not compile it, or no record says what was measured."""
    NOT_COMPILED = "not_compiled"
    """This run did not compile it."""


LINE_INFO = "-lineinfo"  # the option that puts line tables into device code


class BinaryMatch(NamedTuple):
    """A measured binary beside the one that was compiled in this run."""

    artifact: str
    """Variant or program id."""
    arch: str
    target: str
    measured_sha256: str
    sameness: Sameness


def binary_matches(catalog: Catalog, evidence: Evidence) -> tuple[BinaryMatch, ...]:
    """Return every binary that was timed, once a on, beside the build of the same name here."""
    found = []
    for artifact, on, digest in sorted({(a, t, d) for t, a, d in timed_binaries(evidence) if d}):
        arch = catalog.targets[on].arch
        built, sameness = evidence.builds.get((artifact, arch)), Sameness.NOT_COMPILED
        if built is not None:
            then = _made(evidence, artifact, arch, on, digest)
            sameness = _sameness(digest, then, built)
        found.append(BinaryMatch(artifact, arch, on, digest, sameness))
    return tuple(found)


def _made(
    evidence: Evidence, artifact: str, arch: str, target: str, measured: str
) -> BuildRecord | None:
    """Return the record of what made a binary that was taken over, maybe from earlier sources."""
    recorded = evidence.recorded_builds.get((artifact, arch))
    of_target = evidence.target_builds.get(target, {}).get((artifact, arch))
    for record in (of_target, recorded.record if recorded else None):
        if record is not None and record.artifact and record.artifact.sha256 == measured:
            return record
    return None


def _sameness(measured: str, then: BuildRecord | None, built: BuildRecord) -> Sameness:
    """Compare two binaries; those that are not the same file by what their build records say."""
    if built.artifact is not None and built.artifact.sha256 == measured:
        return Sameness.FILE
    if built.artifact is None or then is None:
        return Sameness.OTHER
    alike = built.resources == then.resources
    if alike and built.cubins and built.cubins == then.cubins:
        return Sameness.DEVICE_CODE
    if built.code_sha256 is not None and built.code_sha256 == then.code_sha256:
        return Sameness.INSTRUCTIONS  # a kernel's mangled name may hold a digest of its source
    by_another = then.toolchain.host_compiler != built.toolchain.host_compiler
    if built.sources == then.sources and alike and by_another and LINE_INFO in then.command:
        return Sameness.LINE_TABLES
    return Sameness.OTHER if built.sources == then.sources else Sameness.CHANGED
