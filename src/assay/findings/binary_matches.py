"""Measured binaries beside those that a run compiled: the same file, the same device code, or not.

Pure. The device code of a binary that was measured elsewhere is what its own build record says.
"""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import recorded_builds
from assay.records.builds import BuildRecord
from assay.records.plan import BuildJob, Plan
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
    """Return every binary that was timed, once a target, beside the build of the same name here."""
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
    then = _made(evidence, artifact, arch, target, measured)
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
    if built is None or not built.had_compiler:
        return Sameness.NOT_COMPILED
    if built.artifact is not None and built.artifact.sha256 == measured:
        return Sameness.FILE
    if then is None or built.artifact is None:
        return Sameness.OTHER
    return _sameness_inside(then, built)


def _sameness_inside(then: BuildRecord, built: BuildRecord) -> Sameness:
    """Compare two binaries that are not the same file, by what their build records say of them."""
    compilers = (then.toolchain.host_compiler, built.toolchain.host_compiler)
    alike = built.resources == then.resources
    if alike and built.cubins and built.cubins == then.cubins:
        return Sameness.DEVICE_CODE
    if built.code_sha256 is not None and built.code_sha256 == then.code_sha256:
        return Sameness.INSTRUCTIONS  # a kernel's mangled name may hold a digest of its source
    if alike and LINE_INFO in then.command and compilers[0] != compilers[1]:
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
            f"byte, in other host code{_compilers(matches, Sameness.DEVICE_CODE)}"
        )
    if count := counts[Sameness.INSTRUCTIONS]:
        parts.append(
            f"{count} {agreeing(count, 'has', 'have')} the same machine code, from another text of "
            "the source"
        )
    if count := counts[Sameness.LINE_TABLES]:
        parts.append(
            f"{count} {agreeing(count, 'has', 'have')} line tables in the device code, "
            "which name headers of the host compiler"
            f"{_compilers(matches, Sameness.LINE_TABLES)}: ./assay verify --rebuild says "
            "whether all else is the same"
        )
    if count := counts[Sameness.OTHER]:
        parts.append(f"{count} {agreeing(count, 'is', 'are')} not what this run compiled")
    if count := counts[Sameness.NOT_COMPILED]:
        parts.append(f"{count} {agreeing(count, 'was', 'were')} not compiled in this run")
    return "; ".join(parts) + "."


def _compilers(matches: Sequence[BinaryMatch], sameness: Sameness) -> str:
    """As: (by g++ 12 then, by g++ 14 here). Empty where it was the same compiler."""
    pairs = dict.fromkeys(m.host_compilers for m in matches if m.sameness is sameness)
    told = (f"by {pair[0]} then, by {pair[1]} here" for pair in pairs if pair and len({*pair}) > 1)
    listed = "; ".join(told)
    return f" ({listed})" if listed else ""


def told_not_compiled(plan: Plan) -> str | None:
    """Return what a run leaves uncompiled, in one sentence; None where it compiles everything."""
    left = plan.not_compiled
    if not left:
        return None
    wanted = {(job.id, job.arch) for job in left}
    came = [(wanted & recorded_builds(t).keys(), t.provision.recorded_in) for t in plan.targets]
    held = len(set[tuple[str, str]]().union(*(keys for keys, _ in came)))
    every = counted(len(left) + len(plan.builds), "build")
    sentence = f"Not compiled here: {len(left)} of {every} ({_kinds(left)})"
    if held:
        places = sorted({place for keys, place in came if keys and place})
        commands = " and ".join(
            shlex.join(["./assay", "verify", "--rebuild", place]) for place in places
        )
        whose = agreeing(held, "its", "their") if held == len(left) else f"of {held} the"
        sentence += (
            f"; {whose} measured {agreeing(held, 'binary', 'binaries')} and "
            f"{agreeing(held, 'build record', 'build records')} are those of the evidence, and "
            f"{commands} {'compile' if len(places) > 1 else 'compiles'} "
            f"{agreeing(held, 'it', 'them')}"
        )
    if held < len(left):
        them = "all" if held else agreeing(len(left), "it", "them")
        sentence += f"; ./assay reproduce --rebuild compiles {them}"
    return f"{sentence}."


def _kinds(jobs: Sequence[BuildJob]) -> str:
    """As: 3 original programs and 1 variant that no claim rests on."""
    counts = Counter(job.kind for job in jobs)
    told = (
        (counts["program"], "original program", ""),
        (counts["variant"], "variant", " that no claim rests on"),
        (counts["probe"], "probe", " that no claim rests on"),
    )
    return " and ".join(f"{counted(count, noun)}{more}" for count, noun, more in told if count)
