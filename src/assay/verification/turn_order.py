"""Whether a benchmark's turns are those of its protocol: how many, in which order. Pure.

The order of turns, and which of them are checked, follow from the comparison's name and the number
of the process, so that they are known without the record.
"""

import statistics
from collections.abc import Iterator
from itertools import combinations

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import BENCHMARKS
from assay.measuring.told import protocol_spec
from assay.records.measurements import BenchmarkRecord, Process
from assay.records.workloads import Comparison, Protocol
from assay.shared.limits import turn_samples
from assay.shared.schedule import CONTROL, plan_blocks
from assay.verification.contradictions import Findings

MOST_DROPPED = 6
"""Arms without samples, of which each may have been dropped in any process: more are not tried."""
LEAST, MOST = 0.8, 1.6
"""A timed launch by one while warming up, which decides how many launches a turn has: on record
0.929 to 1.24, and once below 0.875, of zeros, which draw little power and warmed up behind arms
that draw much. A card of low power may lose more of its clock once it is warm."""
LEAST_UNSETTLED = 0.77
"""The same where nothing settles before a turn: 0.838 on record."""

Order = list[list[tuple[str, bool]]]
"""For each block its turns: (arm or CONTROL, whether its output was checked)."""


def check_turns(catalog: Catalog, evidence: Evidence) -> Findings:
    """Return benchmarks whose processes, blocks or turns are not those of their protocol."""
    findings = Findings()
    for (target, name), record in evidence.benchmarks.items():
        comparison = catalog.comparisons[name]
        path = BENCHMARKS.path(target, name)
        if record.protocol != comparison.protocol:
            says = f"{path} was measured by protocol {record.protocol}, not {comparison.protocol}"
            findings.refuse("protocol", says)
            continue
        _check_record(catalog, comparison, record, path, findings)
    return findings


def _check_record(
    catalog: Catalog, comparison: Comparison, record: BenchmarkRecord, path: str, findings: Findings
) -> None:
    protocol = catalog.protocols[comparison.protocol]
    indices = [process.index for process in record.processes]
    arms = {arm.id for arm in comparison.arms}
    if indices != list(range(protocol.processes)) and not (
        not indices and arms == set(record.not_timed)
    ):
        says = f"{path} has {len(indices)} processes, and its protocol {protocol.processes}"
        findings.refuse("processes", says)
    for process in record.processes:
        where = f"{path}, process {process.index}"
        timed = {facts.arm for facts in process.arms}
        if timed | set(record.not_timed) != arms or timed & set(record.not_timed):
            findings.refuse("arms", f"{where}: its arms are not those of {comparison.id}")
        if len(process.blocks) != protocol.blocks:
            says = f"{where} has {len(process.blocks)} blocks, and its protocol {protocol.blocks}"
            findings.refuse("blocks", says)
        elif len(record.not_timed) > MOST_DROPPED:
            findings.leave(f"the order of turns in {path}, most of whose arms were dropped")
        elif _order(process) not in _orders(catalog, comparison, protocol, record, process):
            findings.refuse("turn-order", f"{where}: its turns are not in the protocol's order")
        _check_samples(protocol, process, where, findings)
        if process.timer != protocol.timer and not record.remarks:
            says = f"{where} was timed by {process.timer}, and nothing says why"
            findings.refuse("protocol", says)
        elif process.timer != protocol.timer:  # words are there, and nobody reads them
            findings.leave(f"why {path} was timed by {process.timer}, not {protocol.timer}")


def _order(process: Process) -> Order:
    return [[(turn.arm, turn.checked) for turn in block.turns] for block in process.blocks]


def _orders(
    catalog: Catalog,
    comparison: Comparison,
    protocol: Protocol,
    record: BenchmarkRecord,
    process: Process,
) -> Iterator[Order]:
    """Yield the orders that the process may have had.

    An arm that was dropped later took its turns too, which the record leaves out.
    """
    timed = {facts.arm for facts in process.arms}
    unwritten = {
        arm.id
        for arm in comparison.arms
        if catalog.workloads[arm.workload].distribution == "unwritten"
    }
    unchecked = unwritten | ({CONTROL} if comparison.control in unwritten else set())
    for count in range(len(record.not_timed) + 1):
        for dropped in combinations(record.not_timed, count):
            there = [arm.id for arm in comparison.arms if arm.id in timed or arm.id in dropped]
            controlled = comparison.control in there
            left_out = {*dropped, *([CONTROL] if comparison.control in dropped else [])}
            plan = plan_blocks(
                there + [CONTROL] * controlled, protocol.blocks, protocol.checked_turns,
                f"{comparison.id}:{process.index}",
            )  # fmt: skip
            yield [
                [(s.name, s.checked and s.name not in unchecked) for s in slots
                 if s.name not in left_out]
                for slots in plan
            ]  # fmt: skip


def _check_samples(protocol: Protocol, process: Process, where: str, findings: Findings) -> None:
    """All turns of an arm time as many launches as its warm-up told."""
    spec = protocol_spec(protocol)
    for facts in process.arms:
        turns = [t.times_ms for b in process.blocks for t in b.turns if t.arm == facts.arm]
        if not turns:
            continue
        counts = {len(times) for times in turns}
        launch_ms = statistics.median([ms for times in turns for ms in times])
        sample_ms = launch_ms * facts.launches_per_sample
        cooler = LEAST if spec.settle_ms > 0 else LEAST_UNSETTLED
        least, most = (turn_samples(spec, sample_ms / share) for share in (cooler, MOST))
        if len(counts) > 1 or not least <= min(counts) <= most:
            says = (
                f"{where}: turns of {facts.arm} hold {' or '.join(map(str, sorted(counts)))} "
                f"samples, and its times ask for {least} to {most}"
            )
            findings.refuse("samples", says)
