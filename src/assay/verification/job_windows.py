"""Whether records lie in the time of the steps that made them, and units of a GPU apart. Pure."""

import math
from collections.abc import Iterator
from datetime import datetime

from assay.evidence.model import Evidence
from assay.evidence.stages import BENCHMARKS, TARGET_STAGES, file_compile_path
from assay.records.base import GpuSpan
from assay.records.measurements import BenchmarkRecord, ProgramRecord
from assay.records.originals import OriginalRunRecord
from assay.records.plan import TargetPlan
from assay.records.timings import Stage, TimingsRecord
from assay.verification.contradictions import Findings, names
from assay.verification.gpu_time_lines import check_time_lines
from assay.verification.original_runs import lines_of

SECOND_S = 1.0
"""Records and steps name whole seconds of two clocks."""


def check_windows(evidence: Evidence) -> Findings:
    """Return what was recorded outside its step, and what was measured on one GPU at one time."""
    findings = Findings()
    check_time_lines(evidence, findings)
    _check_compiles(evidence, findings)
    for plan in evidence.plan.targets:
        if plan.provision.kind == "none":
            continue
        target, came = plan.target, plan.provision.kind == "recorded"
        timings = evidence.target_timings.get(target) if came else evidence.timings
        if timings is not None:
            _check_target(evidence, timings, target, findings)
            _check_others(evidence, timings, plan, findings)
        elif came:
            findings.leave(f"when the steps ran that measured {target}: no timings came along")
        else:
            findings.leave("when the steps ran that measured: no timings were kept")
    return findings


def _check_target(evidence: Evidence, timings: TimingsRecord, of: str, findings: Findings) -> None:
    """Each benchmark of a target lies in the time of a step that may have made it."""
    for (target, name), record in evidence.benchmarks.items():
        if target != of:
            continue
        began = _began(record)
        spans = list(_spans(timings, target, name))
        if spans and (record.import_seconds or 0) > max(e - s for s, e in spans) + SECOND_S:
            says = f"{BENCHMARKS.path(target, name)}: its imports took longer than its step"
            findings.refuse("windows", says)
        if not spans:
            findings.leave(f"when the step ran that timed {target}")
        elif began + record.seconds <= min(s for s, _ in spans) + SECOND_S:
            # A start that was killed measured it, and left no timing; the next one took it up.
            findings.leave(f"when the step ran that first timed {target}: it was cut short")
        elif not any(s - SECOND_S <= began and began + record.seconds <= e + SECOND_S
                     for s, e in spans):  # fmt: skip
            says = f"{BENCHMARKS.path(target, name)} was not measured while its step ran"
            findings.refuse("windows", says)


def _check_others(
    evidence: Evidence, timings: TimingsRecord, plan: TargetPlan, findings: Findings
) -> None:
    """What else was recorded of a target has a time of the step that made it.

    A record from before the last step that may have made it is one that a start left that was
    killed: only a start that came to its end leaves a timing, in place of the one before.
    """
    without: set[str] = set()
    for stage in (each for each in TARGET_STAGES if each is not BENCHMARKS):
        held = getattr(evidence, stage.collection)
        spans = [
            (math.floor(step.began), step.began + step.seconds)
            for step in timings.steps
            if step.stage in _makers(stage.stage) and step.arguments.get("target") == plan.target
        ]
        for key, path in stage.paths(plan).items():
            record = held.get(key)
            told = getattr(record, "recorded_at", None)
            span: GpuSpan | None = getattr(record, "on_gpu", None)
            if told is not None:
                at, before = datetime.fromisoformat(told).timestamp(), _took(record)
            elif span is not None:
                at, before = span.ends[1], span.seconds
            else:
                continue
            in_its_step = any(
                start - SECOND_S <= at - before and at <= end + SECOND_S for start, end in spans
            )
            if in_its_step:
                continue
            if not spans or at < max(start for start, _ in spans) + SECOND_S:
                without.add(stage.stage.value)
            else:
                findings.refuse("windows", f"{path} was not recorded while its step ran")
    if without:
        findings.leave(f"when steps first ran that made records of {plan.target}: {names(without)}")


def _makers(stage: Stage) -> tuple[Stage, ...]:
    """Return the stages whose steps make a stage's records: what a GPU leaves that is lost while it
    times is checked again on another by the step that times, and so is what another card checked
    than Slurm grants that step.
    """
    return (stage, Stage.BENCHMARK) if stage is Stage.CORRECTNESS else (stage,)


def _check_compiles(evidence: Evidence, findings: Findings) -> None:
    """A file that this run compiled was compiled while its step ran."""
    for job in evidence.plan.compilations if evidence.timings else ():
        record = evidence.file_compiles.get(job.key)
        spans = [
            (math.floor(step.began), step.began + step.seconds)
            for step in (evidence.timings.steps if evidence.timings else ())
            if step.stage is Stage.FILE_COMPILE
            and (step.arguments.get("artifact"), step.arguments.get("arch")) == job.key
        ]
        if record is None:
            continue  # which is found as missing
        at = datetime.fromisoformat(record.recorded_at).timestamp()
        if not spans or at < min(start for start, _ in spans) - SECOND_S:
            findings.leave(f"when {job.compilation} was first compiled for {job.arch}")
        elif not any(s - SECOND_S <= at <= e + SECOND_S for s, e in spans):
            says = f"{file_compile_path(*job.key)} was not recorded while its step ran"
            findings.refuse("windows", says)


def _took(record: object) -> float:
    """Return the seconds that programs ran before their record was made."""
    if isinstance(record, OriginalRunRecord):
        return math.fsum(line.seconds for line in lines_of(record))
    if isinstance(record, ProgramRecord):
        return math.fsum(run.seconds for run in record.runs)
    return 0.0


def _began(record: BenchmarkRecord) -> float:
    return datetime.fromisoformat(record.recorded_at).timestamp()


def _spans(timings: TimingsRecord, target: str, comparison: str) -> Iterator[tuple[float, float]]:
    """Yield (start, end) of the steps that may have made a record."""
    for step in timings.steps:
        named = step.arguments.get("comparison", comparison)
        if (step.stage, step.arguments.get("target"), named) == (
            Stage.BENCHMARK, target, comparison,
        ):  # fmt: skip
            yield math.floor(step.began), step.began + step.seconds
