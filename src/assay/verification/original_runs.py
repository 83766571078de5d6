"""Whether records of sources' own programs are of what the plan and the claim files say. Pure.

They ran from a checkout that is not in the evidence, so that of what they print nothing but running
them again tells.
"""

from collections.abc import Iterator

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import ORIGINALS
from assay.records.originals import (
    GivenLine,
    OriginalJob,
    OriginalRunRecord,
    OriginalSource,
    TypedLine,
)
from assay.verification.contradictions import Findings


def check_originals(catalog: Catalog, evidence: Evidence, findings: Findings) -> None:
    """Add records that contradict their job, the claim file or themselves."""
    for plan in evidence.plan.targets:
        for job in plan.originals:
            path = ORIGINALS.path(plan.target, job.original)
            file = catalog.sources.get(job.source)
            described = file.own_program(job.original) if file else None
            if described is None:
                says = f"{path}: no claim file describes that program of source {job.source}"
                findings.refuse("original-run", says)
                continue
            record = evidence.originals.get((plan.target, job.original))
            if record is None:
                continue  # which is found as missing, where it is called for
            for wrong in (*_of_job(job, record), *_described(described, record)):
                findings.refuse("original-run", f"{path}: {wrong}")
            _check_runs(record, catalog.judging.program_runs, path, findings)


def _of_job(job: OriginalJob, record: OriginalRunRecord) -> Iterator[str]:
    """Yield what a record says otherwise than the plan's job."""
    if (record.source, record.original, record.checkout) != (
        job.source,
        job.original,
        job.checkout,
    ):
        yield "is of another program or checkout than the plan's"
    if (record.build_line, record.run_line, record.typed_line) != (job.build, job.run, job.typed):
        yield "was built or run by other lines than the plan's"
    if record.figures != job.figures:
        yield "is read by other patterns than the plan's"


def _described(described: OriginalSource, record: OriginalRunRecord) -> Iterator[str]:
    """Yield what a record says otherwise than the claim file that describes its program."""
    if record.file != described.file or (record.file is None) != (record.file_sha256 is None):
        yield f"is of the file {record.file}, and the claim file names {described.file}"
    for what, given, typed in (
        ("build", record.build_line, described.build),
        ("run", record.run_line, described.run),
    ):
        if not _may_be(given, typed):
            yield f"its {what} line is not whose it says, or not as the source types it"
    if record.image != described.image:
        yield f"ran in image {record.image}, and the claim file names {described.image}"
    ours = None if described.typed is None else described.typed.line
    if ours != (None if record.typed_line is None else record.typed_line.line):
        yield "its line as typed is not the one that the claim file has"
    answered = {figure.claim for figure in described.figures}
    if any(figure.claim not in answered for figure in record.figures):
        yield "has a pattern for a claim that the program does not answer"


def _may_be(given: GivenLine | None, typed: TypedLine | None) -> bool:
    """Return whether a line is the source's, where that is whole, and the user's elsewhere."""
    whole = typed is not None and typed.lacks is None
    if given is None:
        return typed is None
    if given.by == "user":
        return not whole
    return whole and typed is not None and given.line == typed.line


def _check_runs(record: OriginalRunRecord, wanted: int, path: str, findings: Findings) -> None:
    """A program that was built ran as often as it was to, each time anew; another never ran."""
    if record.compiler is not None and record.compiler.exit_code != 0:
        findings.leave(f"by which compiler {record.original} was built, which did not say")
    built = (record.build is None or record.build.exit_code == 0) and record.lacking is None
    for runs, line in ((record.runs, record.run_line), (record.typed_runs, record.typed_line)):
        if len(runs) != (wanted if built and line is not None else 0):
            asked = f"{wanted} times" if built else "not at all, being not built"
            says = f"{path} has {len(runs)} runs of a line, and its program was to run {asked}"
            findings.refuse("program-runs", says)
