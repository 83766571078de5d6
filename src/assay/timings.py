"""Where the time of a run went: a timing a step, collected, added up and laid along one axis.

Timings are read where they lie and are nobody's input: that a step took longer than last time is
no reason to judge or to write the report again.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from assay.errors import BadInput
from assay.evidence import Evidence
from assay.io import read_record, write_record
from assay.records.measurements import BenchmarkRecord
from assay.records.plan import Plan
from assay.records.timings import Stage, StepTiming, TimingsRecord

Step = tuple[Stage, frozenset[tuple[str, str]]]
"""A step by its rule and its wildcards."""

FINISHING = (Stage.REPORT, Stage.SIGN, Stage.VERIFY)
"""Stages that come after the evidence: no report can say how long its own making took."""
ON_GPU = frozenset(
    {Stage.PLATFORM, Stage.CORRECTNESS, Stage.BENCHMARK, Stage.PROGRAM, Stage.PROFILE}
)
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
    """What a GPU did of the time that was spent on it, in s."""

    gpu_s: float
    """Timed launches and warm-up, as events measured them."""
    wall_s: float

    @property
    def share(self) -> float:
        """GPU work over wall clock."""
        return self.gpu_s / self.wall_s


def timing_path(stage: str, arguments: Mapping[str, str]) -> str:
    """timings/<step>.json below the directory of a run."""
    return f"timings/{'.'.join([stage, *arguments.values()])}.json"


def write_timing(
    run_dir: Path, rule: str, arguments: dict[str, str], started: datetime, seconds: float
) -> None:
    """Keep how long a step took, in place of what it took the last time."""
    timing = StepTiming(
        stage=Stage(rule),
        arguments=arguments,
        started=started.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        seconds=round(seconds, 3),
    )
    write_record(timing, run_dir / timing_path(rule, arguments))


def collect_timings(run_dir: Path, plan: Plan, *, finishing: bool = False) -> TimingsRecord:
    """Timings of the plan's steps as far as they were kept, in the order in which they started.

    Left out: what an earlier plan of the same run called for, and what an earlier version wrote in
    another form. ``finishing`` adds the stages that come after the verdicts.
    """
    wanted = planned_steps(plan)
    if finishing:
        wanted |= {(stage, frozenset()) for stage in FINISHING}
    found: list[StepTiming] = []
    for path in sorted((run_dir / "timings").glob("*.json")):
        try:
            timing = read_record(StepTiming, path)
        except BadInput:
            continue
        if (timing.stage, frozenset(timing.arguments.items())) in wanted:
            found.append(timing)
    found.sort(key=_at)  # stable: equal times keep the order of names
    return TimingsRecord(schema="assay/timings/1", steps=tuple(found))


def step_name(step: StepTiming) -> str:
    """What tells a step apart from the others of its stage: the thing, then the place."""
    known = ("comparison", "arm", "artifact", "job", "arch", "target")
    return " ".join(step.arguments[name] for name in known if name in step.arguments)


def planned_steps(plan: Plan) -> frozenset[Step]:
    """The steps that a plan calls for, up to the verdicts."""
    steps: list[tuple[Stage, dict[str, str]]] = [
        (Stage.PLAN, {}), (Stage.INSPECT, {}), (Stage.JUDGE, {}),
    ]  # fmt: skip
    steps += [(Stage.TOOLCHAIN_IMAGE, {"target": target}) for target in plan.toolchains]
    steps += [(Stage.BUILD, {"artifact": job.id, "arch": job.arch}) for job in plan.builds]
    for planned in plan.targets:
        if planned.provision.kind == "none":
            continue
        target = {"target": planned.target}
        steps.append((Stage.PLATFORM, target))
        if planned.runner:
            steps.append((Stage.RUNNER_IMAGE, target))
        for comparison in planned.comparisons:
            steps.append((Stage.CORRECTNESS, {**target, "comparison": comparison}))
            steps.append((Stage.BENCHMARK, {**target, "comparison": comparison}))
        steps += [(Stage.PROGRAM, {**target, "job": job.id}) for job in planned.programs]
        for comparison, arm in planned.profiles:
            steps.append((Stage.PROFILE, {**target, "comparison": comparison, "arm": arm}))
    return frozenset((stage, frozenset(arguments.items())) for stage, arguments in steps)


def stage_totals(steps: Sequence[StepTiming]) -> tuple[StageTotal, ...]:
    """Every stage that has a timing, in the order of the flow."""
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
    ordered = sorted(steps, key=_at)
    shift, until, cuts = 0.0, 0.0, []
    first = _at(ordered[0]) if ordered else 0.0
    spans: dict[Stage, list[Span]] = {}
    for step in ordered:
        start = _at(step) - first - shift
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


def gpu_work(evidence: Evidence, steps: Iterable[StepTiming]) -> dict[tuple[str, str], GpuWork]:
    """What was GPU work of each benchmark step that measured in this run: (target, comparison)."""
    here = measured_here(evidence.plan)
    work: dict[tuple[str, str], GpuWork] = {}
    for step in steps:
        key = (step.arguments.get("target", ""), step.arguments.get("comparison", ""))
        record = evidence.benchmarks.get(key)
        if step.stage is Stage.BENCHMARK and key[0] in here and record and step.seconds > 0:
            work[key] = GpuWork(_gpu_seconds(record), step.seconds)
    return work


def earlier_work(evidence: Evidence, target: str) -> GpuWork | None:
    """What was GPU work of a target's benchmarks by their own clock; None where none took time."""
    records = [record for (name, _), record in evidence.benchmarks.items() if name == target]
    wall = math.fsum(record.seconds for record in records)
    return GpuWork(math.fsum(map(_gpu_seconds, records)), wall) if wall > 0 else None


def total_work(parts: Collection[GpuWork]) -> GpuWork | None:
    """Several steps as one; None without any."""
    if not parts:
        return None
    return GpuWork(math.fsum(p.gpu_s for p in parts), math.fsum(p.wall_s for p in parts))


def gpu_seconds(steps: Iterable[StepTiming], here: frozenset[str]) -> float:
    """Seconds in which this run's steps held a GPU."""
    return math.fsum(step.seconds for step in steps if holds_gpu(step, here))


def measured_here(plan: Plan) -> frozenset[str]:
    """Targets whose figures the run measures itself."""
    return frozenset(t.target for t in plan.targets if t.provision.kind == "device")


def holds_gpu(step: StepTiming, here: frozenset[str]) -> bool:
    """Whether a step had a GPU to itself: taking over an earlier report's records needs none."""
    return step.stage in ON_GPU and step.arguments.get("target") in here


def _gpu_seconds(record: BenchmarkRecord) -> float:
    return math.fsum(process.gpu_seconds for process in record.processes)


def _free_lane(spans: Iterable[Span], start: float) -> int:
    """The first lane whose steps have all ended; a millisecond is rounding, not overlap."""
    busy = {span.lane for span in spans if span.end > start + 1e-3}
    return next(lane for lane in range(len(busy) + 1) if lane not in busy)


def _at(step: StepTiming) -> float:
    return datetime.fromisoformat(step.started).timestamp()
