"""Whether records of programs hold the runs that they must. Pure."""

from collections import Counter

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import PROGRAMS
from assay.verification.contradictions import Findings


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
    return findings
