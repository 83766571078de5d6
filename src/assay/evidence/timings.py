"""How long each step of a run took: kept by the step, collected for the report.

Timings are read where they lie and are nobody's input: that a step took longer than last time is
no reason to judge or to write the report again.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_record, write_record
from assay.records.plan import Plan
from assay.records.timings import Stage, StepTiming, TimingsRecord

Step = tuple[Stage, frozenset[tuple[str, str]]]
"""A step by its rule and its wildcards."""

FINISHING = (Stage.REPORT, Stage.SIGN, Stage.VERIFY)
"""Stages that come after the evidence: no report can say how long its own making took."""


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
    found.sort(key=lambda step: step.began)  # stable: equal times keep the order of names
    return TimingsRecord(schema="assay/timings/1", steps=tuple(found))


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
        if planned.comparisons:
            steps += [(Stage.CORRECTNESS, target), (Stage.BENCHMARK, target)]
        if planned.programs:
            steps.append((Stage.PROGRAM, target))
        if planned.profiles:
            steps.append((Stage.PROFILE, target))
        if planned.stopwatches:
            steps.append((Stage.STOPWATCH, target))
        if planned.cheats:
            steps.append((Stage.CHEATS, target))
        if planned.sanitized:
            steps.append((Stage.SANITIZER, target))
        if planned.operators:
            steps.append((Stage.OPERATORS, target))
    return frozenset((stage, frozenset(arguments.items())) for stage, arguments in steps)
