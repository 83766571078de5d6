"""Timings of a run's steps: kept by the step, collected for the report, and nobody's input."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from assay.base.errors import BadInput
from assay.base.io import read_record, write_record
from assay.evidence.stages import FINISHING, nested_reports
from assay.records.plan import Plan
from assay.records.timings import Stage, StepTiming, TimingsRecord


def write_timing(
    run_dir: Path,
    rule: str,
    arguments: dict[str, str],
    started: datetime,
    seconds: float,
    gpus: Mapping[str, float] = MappingProxyType({}),
) -> None:
    """Keep how long a step took the last time, and how long its units held each GPU."""
    timing = StepTiming(
        stage=Stage(rule),
        arguments=arguments,
        started=started.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        seconds=round(seconds, 3),
        gpus={uuid: round(held, 3) for uuid, held in gpus.items()},
    )
    name = ".".join([rule, *arguments.values()])
    write_record(timing, run_dir / "timings" / f"{name}.json")


def collect_timings(run_dir: Path, plan: Plan) -> TimingsRecord:
    """Timings of a plan's steps up to the verdicts, in the order in which they started; without
    those of an earlier plan of the run, or in another version's form.
    """
    measured = {each.target for each in plan.targets if each.provision.kind == "device"}
    compiled = [(job.id, job.arch) for job in plan.builds]
    compiled += [job.key for job in plan.compilations]
    known = {
        "target": measured.union(plan.toolchains),
        "artifact": {artifact for artifact, _ in compiled},
        "arch": {arch for _, arch in compiled},
        "report": set(nested_reports(plan.targets)),
    }

    found = [
        step
        for step in step_timings(run_dir)
        if step.stage not in FINISHING
        and all(value in known.get(name, ()) for name, value in step.arguments.items())
    ]
    found.sort(key=lambda step: step.began)
    return TimingsRecord(schema="assay/timings/1", steps=tuple(found))


def step_timings(run_dir: Path) -> Iterator[StepTiming]:
    """Yield how long each step of a run took the last time, in the order of names."""
    for path in sorted((run_dir / "timings").glob("*.json")):
        with suppress(BadInput):
            yield read_record(StepTiming, path)
