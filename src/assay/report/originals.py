"""How the original programs were built: every flag and where it is from, asserts, own checks."""

from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence, builds_of
from assay.judging.cutlass_output import MalformedOutput, parse
from assay.judging.program_output import verification
from assay.records.kernels import CitedFlag, OriginalProgram
from assay.records.measurements import ProgramRecord
from assay.report.commands import programs_of
from assay.shared.counting import counted

BUILDS = {
    "typed": "by the build line that the source types",
    "release": "as a Release build of the author's own build system",
    None: "nobody recorded by whose build line",
}
ASSERTS = {True: "compiled in", False: "none", None: "nobody looked"}


@dataclass(frozen=True)
class FlagRow:
    """One word of the command line."""

    flag: str
    source: str
    """Who put it there, and the file and line where the package holds one."""
    why: str | None
    """Why it is left out, for a flag that is."""


@dataclass(frozen=True)
class OriginalRow:
    """One original program, as it was built here."""

    id: str
    title: str
    build: str
    flags: tuple[FlagRow, ...]
    left_out: tuple[FlagRow, ...]
    asserts: str
    has_asserts: bool
    check: str
    failed: bool
    """Whether its own check of its output failed in any run."""


def original_rows(catalog: Catalog, evidence: Evidence) -> tuple[OriginalRow, ...]:
    """Return every program that a claim of the plan, or a reading of one, calls for."""
    named = dict.fromkeys(
        evaluation.program
        for claim in catalog.claims_of(evidence.plan.sources, evidence.plan.claims)
        for _, evaluation in programs_of(claim)
    )
    return tuple(_row(catalog.programs[name], evidence) for name in sorted(named))


def _row(program: OriginalProgram, evidence: Evidence) -> OriginalRow:
    asserts = _asserts(program, evidence)
    records = [record for record in evidence.programs.values() if record.program == program.id]
    checks = [_check(program, record) for record in records]
    return OriginalRow(
        id=program.id,
        title=program.title,
        build=BUILDS[program.build],
        flags=tuple(map(_flag, program.flags)),
        left_out=tuple(map(_flag, program.left_out)),
        asserts="; ".join(f"{arch}: {ASSERTS[found]}" for arch, found in asserts.items())
        or "not built here",
        has_asserts=any(asserts.values()),
        check=_told(checks),
        failed=any(passed is False for passed, _ in checks),
    )


def _flag(flag: CitedFlag) -> FlagRow:
    place = "" if flag.file is None else f", {flag.file}:{flag.line}"
    return FlagRow(flag.flag, f"{flag.from_}{place}", flag.why)


def _asserts(program: OriginalProgram, evidence: Evidence) -> dict[str, bool | None]:
    """Return whether each binary holds device asserts, by architecture."""
    return {
        arch: build.asserts
        for (name, arch), build in builds_of(evidence).items()
        if name == program.id and build.status == "built"
    }


def _check(program: OriginalProgram, record: ProgramRecord) -> tuple[bool | None, str]:
    """Return what the program's own check came to with one list of arguments, and why if open."""
    try:
        outputs = [parse(program.parser, run.stdout) for run in record.runs]
    except MalformedOutput as error:
        return None, str(error)
    figures = {name for output in outputs for name in (*output.figures, *output.failed)}
    found = [verification(program, record, outputs, name) for name in sorted(figures)]
    if any(check.passed is False for check in found):
        return False, ""
    unknown = [check.words for check in found if check.passed is None]
    if unknown or not found:
        return None, next(iter(unknown), "it printed no figure")
    return True, ""


def _told(checks: list[tuple[bool | None, str]]) -> str:
    if not checks:
        return "it did not run"
    parts = []
    for outcome, words in ((True, "passed"), (False, "failed"), (None, "not known")):
        if count := sum(passed is outcome for passed, _ in checks):
            parts.append(f"{words} with {counted(count, 'list', 'lists')} of arguments")
    causes = dict.fromkeys(words for passed, words in checks if passed is None)
    return ". ".join(["; ".join(parts), *causes])
