"""Compile again what a report's evidence says was compiled, and compare the outcome with it.

That needs no GPU: it shows that the sources in the evidence made the binary that was measured. The
report must have been verified before; even so nothing in it is run that ``recorded_command`` does
not know, and sources come from this checkout, never from the report; but those of a project, which
is its signer's, from the signed copy.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from time import monotonic

from assay.base.check_log import CheckLog, listed
from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_bytes, read_record
from assay.base.progress import say
from assay.building.line_tables import OPTION
from assay.building.nvcc import Compiled, compiled
from assay.building.recipe import PROJECT, Compilation, Tree, command_problem
from assay.building.toolchain import Toolchain
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.catalog.project_folder import MOST_BYTES, project_of
from assay.evidence.load import load_evidence
from assay.evidence.model import BuildKey, Evidence, builds_of
from assay.evidence.stages import pipeline_path
from assay.judging.gates import timed_binaries
from assay.records.attestation import PipelineRecord
from assay.records.builds import BuildRecord, FileDigest, ToolchainRecord
from assay.shared.counting import agreeing, counted
from assay.shared.files import sha256_bytes, sha256_file, write_bytes

NOT_FOUND = "No such file or directory"
"""The compiler's words for a missing file: a refusal that says nothing of the hardware."""


class RebuildStatus(StrEnum):
    """The outcome of compiling once more."""

    IDENTICAL = "identical"
    """The same artifact byte for byte, or the same refusal."""
    SAME_DEVICE_CODE = "same_device_code"
    """By another host compiler: other host code, and other line tables in device code at most."""
    DIFFERS = "differs"
    SOURCE_MISSING = "source_missing"
    NOT_COMPILED = "not_compiled"
    """Its recorded command is not run, or this checkout has another toolchain."""


PROVEN = (RebuildStatus.IDENTICAL, RebuildStatus.SAME_DEVICE_CODE)


@dataclass(frozen=True)
class Rebuilt:
    """One build of the evidence, compiled once more."""

    id: str
    arch: str
    status: RebuildStatus
    detail: str
    measured: bool
    """Whether measurements of the report ran this artifact."""

    @property
    def name(self) -> str:
        """Return artifact and architecture, in words."""
        return f"{self.id} for {self.arch}"


@dataclass(frozen=True)
class RebuildResult:
    """All builds, those that measurements rest on first."""

    builds: tuple[Rebuilt, ...]
    commit: str | None
    """The commit that made the report."""
    left_out: int = 0
    """Builds that were not asked for."""


@dataclass(frozen=True)
class _Job:
    """The needs of compiling one record, beside the record."""

    root: Path
    toolchain: Toolchain
    catalog: Catalog
    project: Path | None = None
    """The signed copy of the project in the evidence."""


def rebuild(
    report_dir: Path,
    root: Path,
    toolchain: Toolchain,
    *,
    only: Sequence[str] = (),
    progress: Callable[[str], None] = say,
) -> RebuildResult:
    """Compile the builds of a verified report with the sources they were made from.

    ``only`` selects by artifact, or by architecture and artifact as in sm_90a/bsr_gemm_mma.
    Raises BadInput for a selection that selects nothing, MissingEnvironment when the machine gives
    out.
    """
    evidence = load_evidence(report_dir / "evidence")
    catalog = load_catalog(report_dir / "evidence")
    commit = read_record(PipelineRecord, report_dir / "evidence" / pipeline_path()).commit
    measured = _measured(catalog, evidence)
    records = _selected(evidence, only)
    records.sort(key=lambda record: (record.id, record.arch) not in measured)
    project = project_of(report_dir / "evidence")
    job = _Job(root, toolchain, catalog, project)
    done: list[Rebuilt] = []
    for number, record in enumerate(records, start=1):
        started = monotonic()
        status, detail = _rebuild_one(record, job)
        rests = (record.id, record.arch) in measured
        done.append(Rebuilt(record.id, record.arch, status, detail, rests))
        took = f"{status} ({monotonic() - started:.0f} s)"
        progress(f"rebuild {number} of {len(records)}: {done[-1].name}: {took}")
    return RebuildResult(tuple(done), commit, len(builds_of(evidence)) - len(records))


def check_only(report_dir: Path, only: Sequence[str]) -> None:
    """Raise BadInput for a build of ``only`` that a verified report does not hold."""
    if only:
        _selected(load_evidence(report_dir / "evidence"), only)


def _selected(evidence: Evidence, only: Sequence[str]) -> list[BuildRecord]:
    """Return what the run compiled, and what it left to the report that its figures come from.

    Raises BadInput for a name that is neither an artifact nor architecture and artifact.
    """
    named = [(each, {each.id, f"{each.arch}/{each.id}"}) for each in builds_of(evidence).values()]
    known = set[str]().union(*(names for _, names in named))
    for name in only:
        if name not in known:
            raise BadInput(f"the evidence holds no build '{name}': evidence/builds has the records")
    return [each for each, names in named if not only or names.intersection(only)]


def _measured(catalog: Catalog, evidence: Evidence) -> set[BuildKey]:
    """Return the builds whose artifact was measured."""
    timed = timed_binaries(evidence)
    return {(artifact, catalog.targets[target].arch) for target, artifact, _ in timed}


def _source(job: _Job, source: FileDigest) -> bytes:
    """Return what was compiled: of this checkout; of a project what was signed.

    ``source.path`` must be a plain path, which ``command_problem`` sees to. Raises BadInput.
    """
    data = read_bytes(Tree(job.root, job.project).file(source.path), MOST_BYTES)
    if sha256_bytes(data) != source.sha256:
        raise BadInput(f"{source.path} is not the file here that was compiled")
    return data


def _rebuild_one(record: BuildRecord, job: _Job) -> tuple[RebuildStatus, str]:
    problem = command_problem(record, job.catalog)
    if problem is not None:
        return RebuildStatus.NOT_COMPILED, f"its recorded command is not run: {problem}"
    ours = job.toolchain.record
    if (record.toolchain.lock_sha256, record.toolchain.nvcc) != (ours.lock_sha256, ours.nvcc):
        return RebuildStatus.NOT_COMPILED, (
            f"made by nvcc {record.toolchain.nvcc} of another lock of the toolchain than this "
            f"checkout's (nvcc {ours.nvcc})"
        )
    compilation = Compilation(
        id=record.id,
        kind=record.kind,
        arch=record.arch,
        command=record.command,
        sources=record.sources,
        lock_sha256=record.toolchain.lock_sha256,
    )
    with tempfile.TemporaryDirectory(prefix="assay-rebuild-") as folder:
        tree = Path(folder)
        try:
            for source in record.sources:
                write_bytes(tree / source.path, _source(job, source))
        except BadInput as error:
            return RebuildStatus.SOURCE_MISSING, str(error)
        with compiled(compilation, Tree(tree, tree / PROJECT), job.toolchain) as outcome:
            status, detail = compare(record, outcome, ours)
    return status, detail


def compare(
    record: BuildRecord, outcome: Compiled, ours: ToolchainRecord
) -> tuple[RebuildStatus, str]:
    """Hold an outcome against its record. Says why bytes may differ, as far as records tell."""
    if outcome.artifact is None:
        return _refused(record, outcome.diagnostics)
    sha256 = sha256_file(outcome.artifact)
    same = record.artifact is not None and record.artifact.sha256 == sha256
    if reason := _difference(record, outcome, ours, same_file=same):
        return RebuildStatus.DIFFERS, reason
    if same:
        return RebuildStatus.IDENTICAL, f"SHA-256 {sha256}"
    then, here = record.toolchain.host_compiler, ours.host_compiler
    tables = "" if outcome.cubins == record.cubins else "but for line tables, "
    return RebuildStatus.SAME_DEVICE_CODE, f"{tables}by {then} then, by {here} here"


def _difference(
    record: BuildRecord, outcome: Compiled, ours: ToolchainRecord, *, same_file: bool
) -> str | None:
    """Return what differs beyond host code by another compiler, and what that leaves of its headers
    in line tables: their dates and sizes.
    """
    then, here = record.toolchain.host_compiler, ours.host_compiler
    exact, code = outcome.cubins == record.cubins, record.code_sha256
    but_for_tables = OPTION in record.command and code is not None and code == outcome.code_sha256
    if record.artifact is None:
        return "the compiler accepts here what the evidence says it refuses"
    if not (exact or but_for_tables):
        names = {cubin.path for cubin in {*record.cubins} ^ {*outcome.cubins}}
        return f"other device code in {', '.join(sorted(names))}, by {then} then, by {here} here"
    if outcome.resources != record.resources:
        return "ptxas reports other registers or memory than the evidence says"
    if exact and not same_file and (not outcome.cubins or record.kind == "probe"):
        return "other bytes, though its listed cubins are the same"
    if exact and not same_file and then == here:
        return (
            f"the device code is the same, and the host code is not, though {here} is what "
            "compiled it then and here: another linker or C library, or another binary"
        )
    return None


def _refused(record: BuildRecord, diagnostics: str) -> tuple[RebuildStatus, str]:
    """Return what a refusal of the compiler means: only the same one confirms the evidence."""
    last = (diagnostics.splitlines() or ["without a word"])[-1]
    if record.status == "built":
        return RebuildStatus.DIFFERS, f"the compiler refuses it here: {last}"
    missing = [line for line in diagnostics.splitlines() if NOT_FOUND in line]
    if missing:
        return RebuildStatus.DIFFERS, f"the recorded sources are not all it takes: {missing[0]}"
    if diagnostics != record.diagnostics:
        return RebuildStatus.DIFFERS, f"the compiler refuses it for another reason: {last}"
    return RebuildStatus.IDENTICAL, "refused again, in the same words"


def conclude(log: CheckLog, report_dir: Path, result: RebuildResult) -> None:
    """Take up what a rebuild comes to, as two checks. Raises CheckFailed of builds."""
    missing = [build for build in result.builds if build.status is RebuildStatus.SOURCE_MISSING]
    failed = [build for build in result.builds if build.status not in PROVEN]
    others = [build for build in failed if build not in missing]
    with log.check("sources") as says:
        for build in missing:
            says.refuse("source-missing", f"{build.name}: {build.detail}")
        unread = [b.name for b in result.builds if b.status is RebuildStatus.NOT_COMPILED]
        found = counted(len(result.builds) - len(unread), "build")
        says(f"those of {found} are this checkout's, by SHA-256")
        says.leave(*([f"where the sources of {listed(unread)} are"] if unread else []))
    if missing and not others:
        log.skip(("rebuild",), f"sources of {counted(len(missing), 'build')} are missing")
    else:
        with log.check("rebuild") as says:
            for build in others:
                says.refuse("rebuild", f"{build.name}: {build.status}")
            says(_compiled(result))
            says.leave(*_left_open(result))
    if failed:
        lines = [f"\n  {build.name}: {build.status}: {build.detail}" for build in failed]
        raise CheckFailed(
            f"{report_dir}: {len(failed)} of {counted(len(result.builds), 'build')} "
            f"{agreeing(len(failed), 'is', 'are')} not shown to come "
            f"from their sources:{''.join(lines)}{_remedy(failed, result.commit)}",
            code="rebuild" if others else "source-missing",
        )


def _compiled(result: RebuildResult) -> str:
    """Say how many builds came to what."""
    counts = Counter(build.status for build in result.builds)
    told = ", ".join(f"{counts[status]} {status}" for status in RebuildStatus if counts[status])
    builds = counted(len(result.builds), "build")
    measured = sum(build.measured for build in result.builds)
    rest = f"; measurements rest on {measured} of them" if measured else ""
    return f"{builds} compiled from source: {told or 'there are none'}{rest}"


def _left_open(result: RebuildResult) -> Iterator[str]:
    """Yield what compiling does not show: other host code by its reason, and builds left out."""
    reasons: dict[str, list[str]] = {}
    for build in result.builds:
        if build.status is RebuildStatus.SAME_DEVICE_CODE:
            reasons.setdefault(build.detail, []).append(build.name)
    for reason, names in reasons.items():
        have, their = (agreeing(len(names), *pair) for pair in (("has", "have"), ("its", "their")))
        yield (
            f"{counted(len(names), 'build')} {have} the same device code ({reason}); {their} host "
            f"code is other and is not shown to come from these sources: {listed(names)}"
        )
    if result.left_out:
        yield f"what {counted(result.left_out, 'build')} came of, which --only left out"


def _remedy(failed: Sequence[Rebuilt], commit: str | None) -> str:
    ours = {RebuildStatus.SOURCE_MISSING, RebuildStatus.NOT_COMPILED}
    if commit is None or not any(build.status in ours for build in failed):
        return ""
    return f"\n  the report was made by commit {commit}: check that out and rebuild there"
