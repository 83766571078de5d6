"""The second stopwatch: NVBench's cold time of the same arms, ``{"task": "stopwatch"}``.

NVBench (the package cuda-bench) is optional: without it the record says ``not_installed``. Each arm
runs in a process of its own, so that whatever NVBench does to it ends there.
"""

import contextlib
import importlib
import importlib.metadata
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import torch

from assay.device.arms import prepare_arm
from assay.device.cuda import DEVICE, open_cuda
from assay.device.errors import Unsupported
from assay.device.inputs import make_inputs
from assay.device.jobs import ArmSpec, Comparison, Job, Json, entry, progress, utc_now
from assay.device.stopwatch import CudaStopwatch
from assay.device.telemetry import Choice
from assay.device.zygote import Note, run_child

DEADLINE_S = 180.0
WARM_LAUNCHES = 3
EVENT_SAMPLES = 50
"""Launches that our own stopwatch times in the same process, for the comparison."""
BLOCKING_TIMEOUT_S = 10.0
"""NVBench holds the GPU until a launch is enqueued; one that waits for the GPU would never be."""
TIMEOUT_S = 10.0
MEDIAN, MEAN = "nv/cold/time/gpu/median", "nv/cold/time/gpu/mean"
SAMPLES = "nv/cold/sample_size"


def find_package() -> Any:
    """NVBench's module, or None."""
    try:
        return importlib.import_module("cuda.bench")
    except ImportError:
        return None


def parse_summaries(document: Json) -> tuple[float, str, int] | None:
    """(ms, statistic, samples) of the only state in NVBench's JSON, or None where it has none."""
    values: dict[str, str] = {}
    for benchmark in document.get("benchmarks", []):
        for state in benchmark.get("states") or []:
            for summary in state.get("summaries") or []:
                for datum in summary.get("data") or []:
                    if datum.get("name") == "value":
                        values[summary["tag"]] = datum["value"]
    for tag, statistic in ((MEDIAN, "median"), (MEAN, "mean")):
        if tag in values:
            return float(values[tag]) * 1e3, statistic, int(float(values.get(SAMPLES, 0)))
    return None


def time_cold(package: Any, launch: Any) -> tuple[float, str, int] | None:
    """NVBench's cold time of a launch on the first device."""

    def measure(state: Any) -> None:
        with contextlib.suppress(AttributeError):
            state.set_blocking_kernel_timeout(BLOCKING_TIMEOUT_S)

        def run(launched: Any) -> None:
            stream = torch.cuda.ExternalStream(launched.get_stream().addressof())
            with torch.cuda.stream(stream):
                launch()

        state.exec(run, batched=False)

    package.register(measure)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "nvbench.json")
        package.run_all_benchmarks(
            ["assay", "--devices", "0", "--timeout", str(TIMEOUT_S), "--json", str(path)]
        )
        return parse_summaries(json.loads(path.read_text(encoding="utf-8")))


def time_arm(package: Any, arm: ArmSpec, note: Note) -> Json:
    """Both stopwatches on one arm, in this process."""
    note("prepare")
    prepared = prepare_arm(arm, make_inputs(arm.workload, DEVICE, arm.workload.seed))
    for _ in range(WARM_LAUNCHES):
        prepared.launch()
    torch.cuda.synchronize()
    note("events")
    stopwatch = CudaStopwatch(cold=True)
    stopwatch.turn(prepared.launch, EVENT_SAMPLES, 1.0)
    times = stopwatch.turn(prepared.launch, EVENT_SAMPLES, 1.0).times_ms
    note("nvbench")
    found = time_cold(package, prepared.launch)
    if found is None:
        raise RuntimeError("NVBench gave no cold time")
    return {
        "events_median_ms": statistics.median(times),
        "nvbench_cold_ms": found[0],
        "nvbench_statistic": found[1],
        "nvbench_samples": found[2],
    }


def arm_record(arm: ArmSpec, status: str, detail: str, times: Json | None = None) -> Json:
    """The StopwatchArm record."""
    return {
        "arm": arm.id,
        "variant": arm.variant.id,
        "workload": arm.workload.id,
        "binary_sha256": arm.artifact.sha256 if arm.artifact else None,
        "status": status,
        "detail": detail,
        "events_median_ms": None,
        "nvbench_cold_ms": None,
        "nvbench_statistic": None,
        "nvbench_samples": None,
        **(times or {}),
    }


def run_stopwatch(job: Job, comparison: Comparison, choice: Choice) -> Json:
    """The StopwatchRecord of the arms in ``timed``; an arm that fails has a status, not a time."""
    package = find_package()
    timed = set(entry(job.document, "timed"))
    arms = [arm for arm in comparison.arms if arm.id in timed]
    records = []
    for number, arm in enumerate(arms, start=1):
        if package is None:
            detail = "the device Python lacks cuda-bench"
            records.append(arm_record(arm, "not_installed", detail))
            continue

        def work(note: Note, arm: ArmSpec = arm) -> Json:
            open_cuda(choice)
            try:
                return time_arm(package, arm, note)
            except Unsupported as error:
                return {"unsupported": str(error)}

        outcome = run_child(work, DEADLINE_S)
        value = outcome.value
        if value is None:
            records.append(arm_record(arm, "failed", f"{outcome.note}: {outcome.error}"))
        elif "unsupported" in value:
            records.append(arm_record(arm, "unsupported", value["unsupported"]))
        else:
            records.append(arm_record(arm, "collected", "", value))
        progress(number, len(arms), f"{arm.id}: {records[-1]['status']}")
    return {
        "schema": "assay/stopwatch/1",
        "comparison": comparison.id,
        "target": job.target.id,
        "gpu_uuid": choice.uuid,
        "recorded_at": utc_now(),
        "nvbench": importlib.metadata.version("cuda-bench") if package is not None else None,
        "arms": records,
    }
