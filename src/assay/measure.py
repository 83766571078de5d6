"""The measuring stages: platform, correctness, benchmark, program, profile.

Each takes what the plan calls for, hands it to the device side, and returns a record; for a target
whose measurements were recorded elsewhere, ``recorded.py`` stands in its place.
"""

from pathlib import Path
from typing import Any

from assay.config import Catalog
from assay.device_link import run_device_job
from assay.errors import CheckFailed
from assay.io import sha256_file
from assay.records.builds import BuildRecord
from assay.records.measurements import (
    BenchmarkRecord,
    CorrectnessRecord,
    ProgramRecord,
)
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


def measure_correctness(
    catalog: Catalog,
    place: Place,
    target: str,
    comparison: str,
    builds: dict[str, tuple[BuildRecord, Path]],
) -> CorrectnessRecord:
    """Check every arm of a comparison. ``builds``: variant id to build record and artifact."""
    job = {
        "task": "correctness",
        "seeds": list(catalog.judging.correctness_seeds),
        **_comparison_job(catalog, target, comparison, builds),
    }
    return run_device_job(place, job, CorrectnessRecord)


def measure_benchmark(
    catalog: Catalog,
    place: Place,
    target: str,
    comparison: str,
    builds: dict[str, tuple[BuildRecord, Path]],
    correctness: CorrectnessRecord,
) -> BenchmarkRecord:
    """Time the arms that passed the gate, and only those."""
    passed = [arm.arm for arm in correctness.arms if arm.status == "correct"]
    refused = {
        arm.arm: f"{arm.status}: {arm.detail}"
        for arm in correctness.arms
        if arm.status != "correct"
    }
    protocol = catalog.protocols[catalog.comparisons[comparison].protocol]
    job = {
        "task": "benchmark",
        "protocol": _plain(protocol),
        "timed": passed,
        "not_timed": refused,
        **_comparison_job(catalog, target, comparison, builds),
    }
    record = run_device_job(place, job, BenchmarkRecord)
    if record.gpu_uuid != correctness.gpu_uuid:
        raise CheckFailed(
            f"{comparison}: checked on {correctness.gpu_uuid} but timed on {record.gpu_uuid}"
        )
    return record


def run_program(
    catalog: Catalog,
    place: Place,
    target: str,
    job: ProgramJob,
    build: BuildRecord,
    artifact: Path,
) -> ProgramRecord:
    """Run an original program in fresh processes, as many as config/judging.yaml says."""
    assert build.artifact is not None
    _check_digest(artifact, build)
    return run_device_job(
        place,
        {
            "task": "program",
            "target": _plain(catalog.targets[target]),
            "program": job.program,
            "path": str(artifact.resolve()),
            "sha256": build.artifact.sha256,
            "arguments": list(job.arguments),
            "runs": catalog.judging.program_runs,
            "timeout_s": PROGRAM_TIMEOUT_S,
        },
        ProgramRecord,
    )


def profile_job(
    catalog: Catalog,
    target: str,
    comparison: str,
    arm: str,
    builds: dict[str, tuple[BuildRecord, Path]],
) -> dict[str, Any]:
    """The device job that launches one arm once between cudaProfilerStart and Stop."""
    return {"task": "profile", "arm": arm, **_comparison_job(catalog, target, comparison, builds)}


def _comparison_job(
    catalog: Catalog, target: str, comparison: str, builds: dict[str, tuple[BuildRecord, Path]]
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
        _check_digest(path, build)
        artifacts[name] = {"path": str(path.resolve()), "sha256": build.artifact.sha256}
    return {
        "target": _plain(catalog.targets[target]),
        "comparison": _plain(catalog.comparisons[comparison]),
        "workloads": {arm.workload: _plain(catalog.workloads[arm.workload]) for arm in arms},
        "variants": {name: _plain(variant) for name, variant in variants.items()},
        "artifacts": artifacts,
    }


def _check_digest(path: Path, build: BuildRecord) -> None:
    if build.artifact is None or sha256_file(path) != build.artifact.sha256:
        raise CheckFailed(f"{path}: is not the file that the build record of {build.id} names")


def _plain(record: Any) -> Any:
    return record.model_dump(mode="json", by_alias=True)
