"""The time that a run took: a timing a step, added up and laid along one axis. Pure."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.evidence.model import Evidence
from assay.evidence.stages import TARGET_STAGES
from assay.records.measurements import BenchmarkRecord
from assay.records.plan import Plan
from assay.records.timings import Stage, StepTiming

ON_GPU = frozenset(entry.stage for entry in TARGET_STAGES if entry.holds_gpu)
"""Stages whose steps hold a GPU where the target is measured in this run."""
LONGEST_PAUSE_S = 60.0
"""A time without any step that is longer than this lies between two starts of the workflow."""


@dataclass(frozen=True)
class StageTotal:
    """All steps of one stage."""

    stage: Stage
    steps: int
    seconds: float
    """Sum over the steps; those that ran side by side count each."""
    longest: StepTiming


@dataclass(frozen=True)
class Span:
    """One step on the axis of the run, in s; ``lane`` tells apart what ran at the same time."""

    start: float
    end: float
    lane: int
    step: StepTiming


@dataclass(frozen=True)
class Timeline:
    """All steps on one axis from which long pauses are cut."""

    stages: tuple[tuple[Stage, tuple[Span, ...]], ...]
    length: float
    """Seconds on the clock, without the pauses."""
    cuts: tuple[float, ...]
    """Where on the axis a pause was cut out."""


@dataclass(frozen=True)
class GpuWork:
    """The GPU's work within the time that was spent on it, in s."""

    work_s: float
    """Phases in which a process keeps the GPU busy, by the host's clock: inputs, oracle, warm-up,
    timed turns with the flushes and changes of contents between launches, checks."""
    timed_s: float
    """The launches themselves, timed and warm-up, as CUDA events measured them."""
    wall_s: float
    """Wall clock: in a step, everything from its start to its end, imports and CUDA's included; of
    several GPUs at work, that of each."""

    @property
    def share(self) -> float:
        """Busy phases over wall clock."""
        return self.work_s / self.wall_s

    @property
    def timed_share(self) -> float:
        """Launches over wall clock."""
        return self.timed_s / self.wall_s


def step_name(step: StepTiming) -> str:
    """Return what tells a step apart from the others of its stage: the thing, then the place."""
    known = ("comparison", "arm", "artifact", "job", "arch", "target")
    return " ".join(step.arguments[name] for name in known if name in step.arguments)


def stage_totals(steps: Sequence[StepTiming]) -> tuple[StageTotal, ...]:
    """Return every stage that has a timing, in the order of the flow."""
    return tuple(
        StageTotal(
            stage=stage,
            steps=len(of_stage),
            seconds=math.fsum(step.seconds for step in of_stage),
            longest=max(of_stage, key=lambda step: step.seconds),
        )
        for stage in Stage
        if (of_stage := [step for step in steps if step.stage is stage])
    )


def timeline(steps: Iterable[StepTiming]) -> Timeline:
    """Lay steps along one axis, each stage in as many lanes as it ran steps at once."""
    ordered = sorted(steps, key=lambda step: step.began)
    shift, until, cuts = 0.0, 0.0, []
    first = ordered[0].began if ordered else 0.0
    spans: dict[Stage, list[Span]] = {}
    for step in ordered:
        start = step.began - first - shift
        pause = start - until
        if pause > LONGEST_PAUSE_S:
            shift += pause
            start = until
            cuts.append(until)
        end = start + step.seconds
        until = max(until, end)
        lanes = spans.setdefault(step.stage, [])
        lanes.append(Span(start, end, _free_lane(lanes, start), step))
    stages = tuple((stage, tuple(spans[stage])) for stage in Stage if stage in spans)
    return Timeline(stages=stages, length=until, cuts=tuple(cuts))


def gpu_work(evidence: Evidence, steps: Iterable[StepTiming]) -> dict[str, GpuWork]:
    """Busy phases and launches of the benchmark steps of each target measured in this run.

    Counted are the records that these steps made: one that they took up from an interrupted start
    was made before they began.
    """
    here = measured_here(evidence.plan)
    work: dict[str, list[GpuWork]] = {}
    for step in steps:
        target = step.arguments.get("target", "")
        if step.stage is not Stage.BENCHMARK or target not in here or step.seconds <= 0:
            continue
        if made := _made_by(step, benchmarks_of(evidence, target)):
            gpus = len({record.gpu_uuid for record in made})
            work.setdefault(target, []).append(_work(made, step.seconds * gpus))
    return {target: total for target, parts in work.items() if (total := total_work(parts))}


def taken_up(evidence: Evidence, steps: Iterable[StepTiming]) -> list[BenchmarkRecord]:
    """Benchmarks that this run measured in a start of which no timing was kept."""
    steps = [step for step in steps if step.stage is Stage.BENCHMARK]
    left = []
    for target in sorted(measured_here(evidence.plan)):
        records = benchmarks_of(evidence, target)
        mine = [step for step in steps if step.arguments.get("target") == target]
        made = {id(record) for step in mine for record in _made_by(step, records)}
        left += [record for record in records if mine and id(record) not in made]
    return left


def own_work(record: BenchmarkRecord) -> GpuWork | None:
    """Return the same of one benchmark by its own clock, which starts behind the imports."""
    return _work([record], record.seconds) if record.seconds > 0 else None


def earlier_work(evidence: Evidence, target: str) -> GpuWork | None:
    """As own_work, of all benchmarks of a target; None where none took time."""
    return total_work([w for r in benchmarks_of(evidence, target) if (w := own_work(r))])


def benchmarks_of(evidence: Evidence, target: str) -> list[BenchmarkRecord]:
    """Return its records, in the order of the evidence."""
    return [record for (name, _), record in evidence.benchmarks.items() if name == target]


def total_work(parts: Collection[GpuWork]) -> GpuWork | None:
    """Several steps as one; None without any."""
    if not parts:
        return None
    return GpuWork(
        math.fsum(p.work_s for p in parts),
        math.fsum(p.timed_s for p in parts),
        math.fsum(p.wall_s for p in parts),
    )


def gpu_seconds(steps: Iterable[StepTiming], here: frozenset[str]) -> float:
    """Return seconds in which this run's steps held a GPU; those of several count each."""
    return math.fsum(
        step.seconds * max(1, len(step.gpus)) for step in steps if holds_gpu(step, here)
    )


def measured_here(plan: Plan) -> frozenset[str]:
    """Return targets whose figures the run measures itself."""
    return frozenset(t.target for t in plan.targets if t.provision.kind == "device")


def holds_gpu(step: StepTiming, here: frozenset[str]) -> bool:
    """Return whether a step had a GPU to itself: taking over an earlier report's records needs
    none.
    """
    return step.stage in ON_GPU and step.arguments.get("target") in here


def _made_by(step: StepTiming, records: Iterable[BenchmarkRecord]) -> list[BenchmarkRecord]:
    """Records that were begun while a step ran; one of a single comparison made no other's."""
    named = step.arguments.get("comparison")
    began = math.floor(step.began)  # a record's time has no fractions
    ended = began + step.seconds + 1
    return [
        record
        for record in records
        if (named is None or record.comparison == named)
        and began <= datetime.fromisoformat(record.recorded_at).timestamp() <= ended
    ]


def _work(records: Collection[BenchmarkRecord], wall_s: float) -> GpuWork:
    processes = [process for record in records for process in record.processes]
    return GpuWork(
        math.fsum(p.wall.gpu_work if p.wall else p.gpu_seconds for p in processes),
        math.fsum(p.gpu_seconds for p in processes),
        wall_s,
    )


def _free_lane(spans: Iterable[Span], start: float) -> int:
    """Return the first lane whose steps have all ended; a millisecond is rounding, not overlap."""
    busy = {span.lane for span in spans if span.end > start + 1e-3}
    return next(lane for lane in range(len(busy) + 1) if lane not in busy)
