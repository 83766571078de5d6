"""Measured binaries beside those that a run compiled: the same file, the same device code, or not.

Pure. The device code of a binary that was measured elsewhere is what its own build record says.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.records.builds import BuildRecord
from assay.records.plan import Plan
from assay.shared.counting import agreeing, counted


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
    OTHER = "other"
    """Another, or this run could not compile it, or no record says what was measured."""
    NOT_COMPILED = "not_compiled"
    """This run did not compile it."""


LINE_INFO = "-lineinfo"
"""The option that puts line tables into device code."""


@dataclass(frozen=True)
class BinaryMatch:
    """A measured binary beside the one that was compiled in this run."""

    artifact: str
    """Variant or program id."""
    arch: str
    target: str
    measured_sha256: str
    sameness: Sameness
    host_compilers: tuple[str, str] | None
    """Of the measured and of the compiled binary, where both are known."""


def binary_matches(catalog: Catalog, evidence: Evidence) -> tuple[BinaryMatch, ...]:
    """Return every binary that was timed, once a target, beside the build of the same name here."""
    measured = {
        (facts.variant, target, facts.binary_sha256)
        for (target, _), benchmark in evidence.benchmarks.items()
        for process in benchmark.processes
        for facts in process.arms
        if facts.binary_sha256 is not None
    } | {
        (program.program, target, program.binary_sha256)
        for (target, _), program in evidence.programs.items()
    }
    found = []
    for artifact, target, digest in sorted(measured):
        arch = catalog.targets[target].arch
        built = evidence.builds.get((artifact, arch))
        then = _made(evidence, artifact, arch, target, digest)
        pair = (then.toolchain, built.toolchain) if then and built else None
        compilers = (pair[0].host_compiler, pair[1].host_compiler) if pair else None
        sameness = _sameness(digest, then, built)
        found.append(BinaryMatch(artifact, arch, target, digest, sameness, compilers))
    return tuple(found)


def _made(
    evidence: Evidence, artifact: str, arch: str, target: str, measured: str
) -> BuildRecord | None:
    """Return the record of what made a binary that was taken over; it may have been made from
    sources that are others by now.
    """
    recorded = evidence.recorded_builds.get((artifact, arch))
    records = (
        evidence.target_builds.get(target, {}).get((artifact, arch)),
        recorded.record if recorded else None,
        evidence.earlier_builds.get((target, artifact)),
    )
    fitting = (each for each in records if each and each.artifact)
    return next((e for e in fitting if e.artifact and e.artifact.sha256 == measured), None)


def _sameness(measured: str, then: BuildRecord | None, built: BuildRecord | None) -> Sameness:
    """Compare two binaries; those that are not the same file by what their build records say."""
    if built is None or not built.had_compiler:
        return Sameness.NOT_COMPILED
    if built.artifact is not None and built.artifact.sha256 == measured:
        return Sameness.FILE
    if built.artifact is None or then is None:
        return Sameness.OTHER
    return _sameness_inside(then, built)


def _sameness_inside(then: BuildRecord, built: BuildRecord) -> Sameness:
    """Compare two binaries that are not the same file."""
    if built.resources == then.resources and built.cubins and built.cubins == then.cubins:
        return Sameness.DEVICE_CODE
    if built.code_sha256 is not None and built.code_sha256 == then.code_sha256:
        return Sameness.INSTRUCTIONS  # a kernel's mangled name may hold a digest of its source
    compilers = {then.toolchain.host_compiler, built.toolchain.host_compiler}
    if built.resources == then.resources and LINE_INFO in then.command and len(compilers) > 1:
        return Sameness.LINE_TABLES
    return Sameness.OTHER


def told(matches: Sequence[BinaryMatch]) -> str:
    """Return how many measured binaries are the same as those compiled here, in one sentence."""
    counts = Counter(match.sameness for match in matches)
    pairs = dict.fromkeys(
        match.host_compilers for match in matches if match.sameness is Sameness.DEVICE_CODE
    )
    by = "; ".join(f"by {pair[0]} then, by {pair[1]} here" for pair in pairs
                   if pair and pair[0] != pair[1])  # fmt: skip
    same = counts[Sameness.FILE]
    sentence = (
        f"Of {counted(len(matches), 'measured binary', 'measured binaries')}, {same} "
        f"{agreeing(same, 'is', 'are')} byte for byte what this run compiled"
    )
    for sameness, verbs, what in (
        (
            Sameness.DEVICE_CODE,
            ("has", "have"),
            f"the same device code, byte for byte, in other host code{f' ({by})' if by else ''}",
        ),
        (
            Sameness.INSTRUCTIONS,
            ("has", "have"),
            "the same machine code, from another text of the source",
        ),
        (
            Sameness.LINE_TABLES,
            ("has", "have"),
            "line tables in the device code, which name headers of another host compiler: "
            "./assay verify --rebuild says whether all else is the same",
        ),
        (Sameness.OTHER, ("is", "are"), "not what this run compiled"),
        (Sameness.NOT_COMPILED, ("was", "were"), "not compiled in this run"),
    ):
        if count := counts[sameness]:
            sentence += f"; {count} {agreeing(count, *verbs)} {what}"
    return f"{sentence}."


def told_not_compiled(plan: Plan) -> str | None:
    """Return how much a run leaves uncompiled, in one sentence; None where it compiles all."""
    if not plan.not_compiled:
        return None
    number = len(plan.not_compiled)
    every = counted(number + len(plan.builds), "build")
    return f"Not compiled here: {number} of {every}; ./assay reproduce --rebuild compiles all."
