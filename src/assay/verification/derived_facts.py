"""What a report's records say of themselves, recomputed from the catalog or from each other."""

from assay.base.check_log import CheckLog
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.shared.counting import counted
from assay.verification.contradictions import Findings
from assay.verification.gate import check_gates
from assay.verification.job_windows import check_windows
from assay.verification.machine import check_machines
from assay.verification.problems import check_binaries, check_problems
from assay.verification.sample_times import check_times
from assay.verification.turn_order import check_turns

CHECKS = ("machine", "gate", "problems", "binaries", "turns", "samples", "windows")
"""In this order: what a later one reads is known to be what an earlier one looked at."""


def check_derived(
    log: CheckLog, catalog: Catalog, evidence: Evidence, *, todays: bool
) -> list[str]:
    """Recompute, each kind of fact as a check of its own; returns what nothing could prove.

    ``todays``: whether the rules that made the report are today's. A check that fails does not
    keep the others from being made.
    """
    unproven: list[str] = []

    benchmarks = evidence.benchmarks.values()
    processes = counted(sum(len(record.processes) for record in benchmarks), "process", "processes")
    arms = counted(sum(len(gate.arms) for gate in evidence.correctness.values()), "arm")
    with log.check("machine") as passed:
        _pass(check_machines(catalog, evidence), unproven)
        passed("each target's records are of one GPU, of its product and architecture")
    with log.check("gate") as passed:
        _pass(check_gates(catalog, evidence, todays=todays), unproven)
        passed(f"{arms}: each that is correct passed every check of the gate, by name and seed")
    with log.check("problems") as passed:
        _pass(check_problems(catalog, evidence), unproven)
        passed("FLOPs, bytes and patterns are what workloads and seeds give")
    with log.check("binaries") as passed:
        _pass(check_binaries(catalog, evidence), unproven)
        passed("what was timed is what the build records name")
    with log.check("turns") as passed:
        _pass(check_turns(catalog, evidence), unproven)
        passed(f"{processes}: blocks, order of turns and samples are the protocols'")
    with log.check("samples") as passed:
        _pass(check_times(catalog, evidence), unproven)
        passed(
            "sums, telemetry, void blocks, other stopwatches and the roofline contradict no "
            "sample, and no process is there twice"
        )
    with log.check("windows") as passed:
        _pass(check_windows(evidence), unproven)
        passed("each benchmark lies in its step's time, and none in another's")
    return unproven


def _pass(found: Findings, unproven: list[str]) -> None:
    unproven.extend(found.unproven)
    found.raise_if_any()
