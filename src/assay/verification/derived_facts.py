"""What a report's records say of themselves, recomputed from the catalog or from each other."""

from collections.abc import Callable

from assay.base.check_log import CheckLog
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.shared.counting import counted
from assay.verification.benchmarks import check_benchmarks
from assay.verification.contradictions import Findings
from assay.verification.gate import check_gates
from assay.verification.guards import check_sanitized
from assay.verification.machine import check_machines
from assay.verification.original_runs import check_originals
from assay.verification.problems import check_binaries, check_problems
from assay.verification.program_runs import check_runs


def _check_measured(catalog: Catalog, evidence: Evidence) -> Findings:
    """Return what contradicts the runs of whatever was timed."""
    findings = check_benchmarks(catalog, evidence)
    check_runs(catalog, evidence, findings)
    check_originals(catalog, evidence, findings)
    return findings


_TABLE: dict[str, tuple[Callable[[Catalog, Evidence], Findings], str]] = {
    "machine": (
        check_machines,
        "each target's records are of one GPU, of its product and architecture",
    ),
    "gate": (
        lambda catalog, evidence: check_sanitized(
            catalog, evidence, check_gates(catalog, evidence)
        ),
        "{arms}: each one called correct passed every check of its gate, by name and seed",
    ),
    "problems": (
        check_problems,
        "FLOPs, bytes and patterns are what workloads and seeds give",
    ),
    "binaries": (
        check_binaries,
        "what was timed is what the build records name",
    ),
    "measured": (
        _check_measured,
        "{processes}: as many as planned, no timed output wrong, no time below the hardware's "
        "floor; each program ran as often as planned",
    ),
}
"""Each check by its name: (catalog, evidence) -> findings, and what passing it says."""
CHECKS = tuple(_TABLE)
"""In this order: what a later one reads is known to be what an earlier one looked at."""


def check_derived(log: CheckLog, catalog: Catalog, evidence: Evidence) -> None:
    """Recompute, each kind of fact as a check of its own: one that fails keeps no other from being
    made.
    """
    benchmarks = evidence.benchmarks.values()
    counts = {
        "processes": counted(
            sum(len(each.processes) for each in benchmarks), "process", "processes"
        ),
        "arms": counted(sum(len(gate.arms) for gate in evidence.correctness.values()), "arm"),
    }
    for name, (find, says) in _TABLE.items():
        with log.check(name) as passed:
            found = find(catalog, evidence)
            passed.leave(found.unproven)
            found.raise_if_any()
            passed(says.format(**counts))
