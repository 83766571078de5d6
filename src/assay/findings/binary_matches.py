"""Measured binaries beside those that a run compiled: the same file, the same device code, or not.

Pure. The device code of a binary that was measured elsewhere is what its own build record says.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import recorded_builds
from assay.records.builds import BuildRecord
from assay.records.plan import Plan
from assay.shared.counting import agreeing, counted


class Sameness(StrEnum):
    """The likeness of a measured binary to the one that was compiled in this run."""

    FILE = "file"
    """The same, byte for byte."""
    DEVICE_CODE = "device_code"
    """All device code is the same, byte for byte; host code, by another compiler, is not."""
    LINE_TABLES = "line_tables"
    """By another host compiler, whose headers the device code's line tables name: other digests,
    which say nothing of the instructions. ``verify --rebuild`` looks inside."""
    OTHER = "other"
    """Another, or this run could not compile it, or no record says what was measured."""
    NOT_COMPILED = "not_compiled"
    """This run did not compile it."""


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

    @property
    def identical(self) -> bool:
        """Return whether the measured bytes are those compiled here."""
        return self.sameness is Sameness.FILE


def binary_matches(catalog: Catalog, evidence: Evidence) -> tuple[BinaryMatch, ...]:
    """Every binary that was timed, once a target, beside the build of the same name here."""
    measured: dict[tuple[str, str, str], None] = {}
    for (target, _), benchmark in evidence.benchmarks.items():
        for process in benchmark.processes:
            for facts in process.arms:
                if facts.binary_sha256 is not None:
                    measured[facts.variant, target, facts.binary_sha256] = None
    for (target, _), program in evidence.programs.items():
        measured[program.program, target, program.binary_sha256] = None
    return tuple(
        _match(evidence, artifact, catalog.targets[target].arch, target, digest)
        for artifact, target, digest in sorted(measured)
    )


def _match(evidence: Evidence, artifact: str, arch: str, target: str, measured: str) -> BinaryMatch:
    built = evidence.builds.get((artifact, arch))
    recorded = evidence.recorded_builds.get((artifact, arch))
    then = recorded.record if recorded else None
    if then is not None and (then.artifact is None or then.artifact.sha256 != measured):
        then = None
    return BinaryMatch(
        artifact=artifact,
        arch=arch,
        target=target,
        measured_sha256=measured,
        sameness=_sameness(measured, then, built),
        host_compilers=(then.toolchain.host_compiler, built.toolchain.host_compiler)
        if then and built
        else None,
    )


def _sameness(measured: str, then: BuildRecord | None, built: BuildRecord | None) -> Sameness:
    if built is None:
        return Sameness.NOT_COMPILED
    if built.artifact is not None and built.artifact.sha256 == measured:
        return Sameness.FILE
    if then is None or built.artifact is None or built.resources != then.resources:
        return Sameness.OTHER
    if built.cubins and built.cubins == then.cubins:
        return Sameness.DEVICE_CODE
    compilers = (then.toolchain.host_compiler, built.toolchain.host_compiler)
    if LINE_INFO in then.command and compilers[0] != compilers[1]:
        return Sameness.LINE_TABLES
    return Sameness.OTHER


LINE_INFO = "-lineinfo"
"""The option that puts line tables into device code."""


def told(matches: Sequence[BinaryMatch]) -> str:
    """Return how many measured binaries are the same as those compiled here, in one sentence."""
    counts = Counter(match.sameness for match in matches)
    parts = [
        f"Of {counted(len(matches), 'measured binary', 'measured binaries')}, "
        f"{counts[Sameness.FILE]} {agreeing(counts[Sameness.FILE], 'is', 'are')} "
        "byte for byte what this run compiled"
    ]
    if count := counts[Sameness.DEVICE_CODE]:
        parts.append(
            f"{count} {agreeing(count, 'has', 'have')} the same device code, byte for "
            f"byte, in other host code ({_compilers(matches, Sameness.DEVICE_CODE)})"
        )
    if count := counts[Sameness.LINE_TABLES]:
        parts.append(
            f"{count} {agreeing(count, 'has', 'have')} line tables in the device code, "
            "which name headers of the host compiler "
            f"({_compilers(matches, Sameness.LINE_TABLES)}): ./assay verify --rebuild says "
            "whether all else is the same"
        )
    if count := counts[Sameness.OTHER]:
        parts.append(f"{count} {agreeing(count, 'is', 'are')} not what this run compiled")
    if count := counts[Sameness.NOT_COMPILED]:
        parts.append(f"{count} {agreeing(count, 'was', 'were')} not compiled in this run")
    return "; ".join(parts) + "."


def _compilers(matches: Sequence[BinaryMatch], sameness: Sameness) -> str:
    """As: by g++ 12 then, by g++ 14 here."""
    pairs = dict.fromkeys(m.host_compilers for m in matches if m.sameness is sameness)
    return "; ".join(f"by {pair[0]} then, by {pair[1]} here" for pair in pairs if pair)


def told_not_compiled(plan: Plan) -> str | None:
    """Return what a run leaves uncompiled, in one sentence; None where it compiles everything."""
    left = plan.not_compiled
    if not left:
        return None
    came = {key for target in plan.targets for key in recorded_builds(target)}
    held = sum((job.id, job.arch) in came for job in left)
    sentence = f"Not compiled here: {len(left)} of {len(left) + len(plan.builds)} builds"
    sentence += " (the original programs, and variants that no claim rests on)"
    if held:
        where = "their" if held == len(left) else f"of {held} the"
        sentence += (
            f"; {where} measured binaries and build records are those of the evidence, and "
            "./assay verify --rebuild compiles them"
        )
    if held < len(left):
        sentence += f"; ./assay reproduce --rebuild compiles {'all' if held else 'them'}"
    return f"{sentence}."
