"""The measuring stages: platform, correctness, benchmark, program, profile.

What the plan calls for as jobs of the device side, many of which a batch measures in one start (see
``batch.py``), or, for the lone ones, as a call that returns a record; for a target whose
measurements were recorded elsewhere, ``recorded.py`` stands in its place. The tasks that a job can
name, and how the device side reads one, are in ``device/jobs.py``.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.base.errors import CheckFailed
from assay.building.artifacts import Builds, told_to_device
from assay.catalog.model import Catalog
from assay.measuring.device_process import run_device_job
from assay.records.builds import BuildRecord
from assay.records.measurements import CorrectnessRecord
from assay.records.plan import ProgramJob
from assay.records.platform import Device
from assay.records.targets import Target
from assay.runtimes.base import Place

PROGRAM_TIMEOUT_S = 300.0
"""An example that has not ended by then hangs: the longest takes under 30 s on an H100."""


def probe_device(place: Place, target: Target, *, echo: bool = False) -> Device:
    """Ask the device side for its GPU. Raises MissingEnvironment when it is not ``target``."""
    job = {"task": "device", "target": _plain(target)}
    return run_device_job(place, job, Device, echo=echo)


def correctness_job(
    catalog: Catalog,
    target: str,
    comparison: str,
    builds: Builds,
) -> dict[str, Any]:
    """The job that checks every arm. ``builds``: variant id to build record and artifact."""
    return {
        "task": "correctness",
        "seeds": list(catalog.judging.correctness_seeds),
        **_comparison_job(catalog, target, comparison, builds),
    }


def benchmark_job(
    catalog: Catalog,
    target: str,
    comparison: str,
    builds: Builds,
    gate: CorrectnessRecord,
) -> dict[str, Any]:
    """The job that times the arms that passed the gate, and only those.

    Raises CheckFailed when the gate checked other binaries than would be timed.
    """
    for arm in gate.arms:
        build = builds[arm.variant][0] if arm.variant in builds else None
        digest = build.artifact.sha256 if build and build.artifact else None
        if arm.status == "correct" and arm.binary_sha256 != digest:
            raise CheckFailed(f"{comparison}: the gate checked another binary of {arm.variant}")
    protocol = catalog.protocols[catalog.comparisons[comparison].protocol]
    return {
        "task": "benchmark",
        "protocol": _plain(protocol),
        "timed": [arm.arm for arm in gate.arms if arm.status == "correct"],
        "not_timed": {
            arm.arm: f"{arm.status}: {arm.detail}" for arm in gate.arms if arm.status != "correct"
        },
        **_comparison_job(catalog, target, comparison, builds),
    }


def program_job(
    catalog: Catalog, target: str, job: ProgramJob, build: BuildRecord, artifact: Path
) -> dict[str, Any]:
    """The job that runs an original program, as often as config/judging.yaml says."""
    return {
        "task": "program",
        "target": _plain(catalog.targets[target]),
        "program": job.program,
        **told_to_device(build, artifact),
        "arguments": list(job.arguments),
        "runs": catalog.judging.program_runs,
        "timeout_s": PROGRAM_TIMEOUT_S,
    }


def profile_job(
    catalog: Catalog,
    target: str,
    comparison: str,
    arm: str,
    builds: Builds,
) -> dict[str, Any]:
    """The device job that launches one arm once between cudaProfilerStart and Stop."""
    return {"task": "profile", "arm": arm, **_comparison_job(catalog, target, comparison, builds)}


def stopwatch_job(
    catalog: Catalog,
    target: str,
    comparison: str,
    builds: Builds,
    gate: CorrectnessRecord,
) -> dict[str, Any]:
    """The job that times the profiled arms that passed the gate with another stopwatch."""
    correct = {arm.arm for arm in gate.arms if arm.status == "correct"}
    return {
        "task": "stopwatch",
        "timed": [arm for arm in catalog.comparisons[comparison].profile if arm in correct],
        **_comparison_job(catalog, target, comparison, builds),
    }


def cheats_job(catalog: Catalog, target: str) -> dict[str, Any]:
    """The job that tries every cheat on the target's GPU."""
    return {"task": "cheats", "target": _plain(catalog.targets[target])}


def sanitizer_job(
    catalog: Catalog,
    target: str,
    comparisons: Sequence[str],
    builds: Builds,
) -> dict[str, Any]:
    """The job that runs every compiled variant of ``builds`` under compute-sanitizer.

    Each at small shapes of the first problem that a comparison gives it. Raises CheckFailed for a
    binary that is not the one its build record names.
    """
    problems: dict[str, str] = {}
    for name in comparisons:
        for arm in catalog.comparisons[name].arms:
            problems.setdefault(arm.variant, arm.workload)
    artifacts = {}
    for variant, (build, path) in builds.items():
        if variant in problems and build.artifact is not None:
            artifacts[variant] = told_to_device(build, path)
    arms = [{"id": v, "variant": v, "workload": problems[v]} for v in artifacts]
    return {
        "task": "sanitize",
        "target": _plain(catalog.targets[target]),
        "comparison": {"id": "kernels", "control": next(iter(artifacts), ""), "arms": arms},
        "workloads": {problems[v]: _plain(catalog.workloads[problems[v]]) for v in artifacts},
        "variants": {v: _plain(catalog.variants[v]) for v in artifacts},
        "artifacts": artifacts,
    }


def _comparison_job(
    catalog: Catalog, target: str, comparison: str, builds: Builds
) -> dict[str, Any]:
    """What every job about a comparison carries; verifies each artifact against its record."""
    arms = catalog.comparisons[comparison].arms
    variants = {arm.variant: catalog.variants[arm.variant] for arm in arms}
    artifacts = {}
    for name in variants:
        if name not in builds:
            continue
        build, path = builds[name]
        if build.artifact is None:
            continue
        artifacts[name] = told_to_device(build, path)
    return {
        "target": _plain(catalog.targets[target]),
        "comparison": _plain(catalog.comparisons[comparison]),
        "workloads": {arm.workload: _plain(catalog.workloads[arm.workload]) for arm in arms},
        "variants": {name: _plain(variant) for name, variant in variants.items()},
        "artifacts": artifacts,
    }


def _plain(record: Any) -> Any:
    return record.model_dump(mode="json", by_alias=True)
