"""Whether records of programs hold the runs that they must. Pure."""

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import PROGRAMS
from assay.records.measurements import ProgramRecord
from assay.verification.contradictions import Findings


def check_runs(catalog: Catalog, evidence: Evidence, findings: Findings) -> None:
    """Add programs that ran more or less often than they were to, or were checked otherwise."""
    wanted = catalog.judging.program_runs
    for (target, job), record in evidence.programs.items():
        path = PROGRAMS.path(target, job)
        if len(record.runs) != wanted:
            says = f"{path} has {len(record.runs)} runs, and its program was to run {wanted} times"
            findings.refuse("program-runs", says)
        _check_verification(catalog, record, path, findings)


def _check_verification(
    catalog: Catalog, record: ProgramRecord, path: str, findings: Findings
) -> None:
    """A program that is told to check its output was told so, by the arguments for it."""
    program = catalog.programs.get(record.program)
    told = tuple(program.verify) if program else ()
    made = record.verification
    if made is None:
        if told:
            findings.leave("that programs checked their output, which older records do not tell")
    elif not told or made.arguments != (*record.arguments, *told):
        says = f"{path}: its output was checked by other arguments than its program's"
        findings.refuse("program-runs", says)
