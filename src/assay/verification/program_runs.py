"""Whether records of programs hold the runs that they must. Pure."""

import math
from collections import Counter

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import PROGRAMS
from assay.records.measurements import ProgramRecord
from assay.verification.contradictions import Findings

ROUNDING_S = 2e-3
"""Of the times of five runs, and of telemetry."""
BUSY, BETWEEN_S = 0.9, 0.5
"""One run follows the other: on record all but 6 ms of the telemetry lie in runs."""


def check_runs(catalog: Catalog, evidence: Evidence, findings: Findings) -> Findings:
    """Add programs that ran more or less often than they were to, or of which a run is repeated."""
    wanted = catalog.judging.program_runs
    for (target, job), record in evidence.programs.items():
        path = PROGRAMS.path(target, job)
        if len(record.runs) != wanted:
            says = f"{path} has {len(record.runs)} runs, and its program was to run {wanted} times"
            findings.refuse("program-runs", says)
        seen = Counter((run.seconds, run.stdout) for run in record.runs)
        if max(seen.values(), default=1) > 1:
            findings.refuse("repeated", f"{path} has one run several times")
        _check_telemetry(record, path, findings)
        _check_verification(catalog, record, path, findings)
    return findings


def _check_telemetry(record: ProgramRecord, path: str, findings: Findings) -> None:
    """Runs take time, and lie within the telemetry that was sampled while they ran."""
    at = record.telemetry.at_s
    if len({len(column) for _, column in record.telemetry}) != 1 or list(at) != sorted(at):
        findings.refuse("telemetry", f"{path}: its telemetry is no series")
        return
    sampled = at[-1] - at[0] if at else 0.0
    together = math.fsum(run.seconds for run in record.runs)
    least = min((run.seconds for run in record.runs), default=1.0)
    if least <= 0 or not BUSY * sampled - BETWEEN_S <= together <= sampled + ROUNDING_S:
        says = f"{path}: its runs took {together:.1f} s, and its telemetry {sampled:.1f} s"
        findings.refuse("windows", says)


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
