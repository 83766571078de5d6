"""Whether each GPU did one thing at a time, by what its records say of their time. Pure.

A record names its GPU and the time in which its unit of work had it. Units of one GPU do not
overlap, whatever stage they are of; the times fit what else the record says of them; and what was
to be alone, or beside busy neighbours, was.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from assay.evidence.model import Evidence
from assay.evidence.stages import CARDS, PLATFORMS, TARGET_STAGES
from assay.records.base import GpuRecord
from assay.records.cards import CardRun, CardsRecord
from assay.records.measurements import BenchmarkRecord
from assay.verification.contradictions import Findings

SECOND_S = 1.0
"""Records from before name whole seconds of two clocks."""
SLACK_S = 0.05
"""A machine's clock may be set while it measures, by as little as its service sets it."""
BESIDE_SHARE = 0.5
"""Of a run beside neighbours, the least part in which each of them worked."""

Span = tuple[float, float, str, float]
"""Beginning, end, whose it is, and how exactly both are known."""


def check_time_lines(evidence: Evidence, findings: Findings) -> None:
    """Add what cannot be so of the times in which units had GPUs to themselves."""
    by_gpu: dict[str, list[Span]] = {}
    for record, path in _units(evidence):
        span = _span(record, path, findings)
        if span is not None:
            by_gpu.setdefault(record.gpu_uuid, []).append(span)
    for spans in by_gpu.values():
        for (_, ended, first, rough), (began, _, second, roughly) in pairwise(sorted(spans)):
            if began + max(rough, roughly) < ended:
                says = f"{first} and {second} were measured on one GPU at one time"
                findings.refuse("windows", says)
    for target, record in evidence.cards.items():
        _check_settings(record, CARDS.path(target), by_gpu, findings)


def _units(evidence: Evidence) -> Iterator[tuple[GpuRecord, str]]:
    """Yield every record of a unit that had a GPU, with its path."""
    for plan in evidence.plan.targets:
        for stage in (each for each in TARGET_STAGES if each is not PLATFORMS):
            held = getattr(evidence, stage.collection)
            for key, path in stage.paths(plan).items():
                record = held.get(key)
                if isinstance(record, CardsRecord):
                    for number, run in enumerate(record.runs):
                        yield run.benchmark, f"{path}, run {number}"
                    for number, gate in enumerate(record.gates):
                        yield gate, f"{path}, gate {number}"
                elif isinstance(record, GpuRecord):
                    yield record, path


def _span(record: GpuRecord, path: str, findings: Findings) -> Span | None:
    """Return the time of a unit; None where the record does not tell it."""
    timed = record if isinstance(record, BenchmarkRecord) else None
    began = datetime.fromisoformat(timed.recorded_at).timestamp() if timed else 0.0
    if record.on_gpu is None:
        return (began, began + timed.seconds, path, SECOND_S) if timed else None
    start, end = record.on_gpu.ends
    took = getattr(record, "seconds", 0.0)
    if took > end - start + SLACK_S:
        findings.refuse("windows", f"{path} took longer than it had its GPU")
    if timed and not start - SECOND_S <= began <= end + SECOND_S:
        findings.refuse("windows", f"{path} was begun at another time than it had its GPU")
    return start, end, path, SLACK_S


def _check_settings(
    record: CardsRecord, path: str, by_gpu: dict[str, list[Span]], findings: Findings
) -> None:
    """What was measured alone had no neighbour at work, and what was beside some had them all."""
    machine = {gate.gpu_uuid for gate in record.gates}
    for number, run in enumerate(record.runs):
        where = f"{path}, run {number}"
        said = {"alone": set[str](), "beside": machine - {run.benchmark.gpu_uuid}}[run.setting]
        if set(run.neighbours) != said or run.benchmark.target != record.target:
            findings.refuse("windows", f"{where} names other neighbours than it had")
        if run.benchmark.on_gpu is None:
            findings.leave(f"what ran beside {where}: it does not say when it ran")
            continue
        if run.setting == "alone":
            for gpu in machine - {run.benchmark.gpu_uuid}:
                if any(_common(run, span) > SLACK_S for span in by_gpu.get(gpu, ())):
                    findings.refuse("windows", f"{where} was alone, and {gpu} worked meanwhile")
        else:
            _check_beside(record, run, where, findings)


def _check_beside(record: CardsRecord, run: CardRun, where: str, findings: Findings) -> None:
    length = run.benchmark.on_gpu.seconds if run.benchmark.on_gpu else 0.0
    for gpu in run.neighbours:
        company = sum(
            _common(run, (*other.benchmark.on_gpu.ends, "", 0.0))
            for other in record.runs
            if other.phase == run.phase
            and other.benchmark.gpu_uuid == gpu
            and other.benchmark.on_gpu
        )
        if company < BESIDE_SHARE * length:
            findings.refuse("windows", f"{where} was beside {gpu}, which did not work meanwhile")


def _common(run: CardRun, other: Span) -> float:
    """Return the seconds in which both had their GPUs."""
    if run.benchmark.on_gpu is None:
        return 0.0
    start, end = run.benchmark.on_gpu.ends
    return max(0.0, min(end, other[1]) - max(start, other[0]))
