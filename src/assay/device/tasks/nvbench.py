"""The second stopwatch: NVBench's cold time of the same arms, ``{"task": "stopwatch"}``.

NVBench (the package cuda-bench) is optional: without it the record says ``not_installed``. Each arm
runs in a process of its own, so that whatever NVBench does to it ends there. Only these processes
import it: loading its extension initialises CUDA, which a parent must not have done when it forks.
"""

import contextlib
import importlib.metadata
import importlib.util
import json
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from assay.device.kernels.bindings import prepare_arm
from assay.device.kernels.drawn_inputs import make_inputs
from assay.device.kernels.prepared import import_rival
from assay.device.timing.stopwatch import CudaStopwatch
from assay.device.worker.cuda import DEVICE, open_cuda
from assay.device.worker.forks import Note, run_child
from assay.device.worker.locks import OpenGpu
from assay.device.worker.messages import progress, utc_now
from assay.shared.errors import RivalMissing, Unsupported
from assay.shared.job import StopwatchJob
from assay.shared.specs import ArmSpec, Json

DEADLINE_S = 90.0
WARM_LAUNCHES = 3
EVENT_SAMPLES = 50
"""Launches that our own stopwatch times in the same process, for the comparison."""
NVBENCH_SAMPLES = 100
"""Cold launches that NVBench times: its default. A fixed number, for its rule of stopping at 0.5 %
of noise goes on until its time is up where the clock wanders under a power cap."""
BLOCKING_TIMEOUT_S = 10.0
"""NVBench holds the GPU until a launch is enqueued; one that waits for the GPU would never be."""
TIMEOUT_S = 10.0
THROTTLE_FRACTION = 0.01
"""NVBench throws away what ran below 75 % of the highest clock, and pauses. A capped GPU runs there
all the time, and our own samples keep what its regime is: only an absurd clock may be thrown away.
Not 0, which would also end NVBench's measuring of the clock."""
TIMES = (
    "events_median_ms",
    "nvbench_cold_ms", "nvbench_statistic", "nvbench_samples", "nvbench_clock_mhz",
)  # fmt: skip
"""Of the StopwatchArm record: by our own stopwatch, then by NVBench."""
MEDIAN, MEAN = "nv/cold/time/gpu/median", "nv/cold/time/gpu/mean"
SAMPLES = "nv/cold/sample_size"
CLOCK = "nv/cold/sm_clock_rate/mean"


def installed_version() -> str | None:
    """Return the version of cuda-bench, found without loading it; None where there is none."""
    try:
        if importlib.util.find_spec("cuda.bench") is None:
            return None
        return importlib.metadata.version("cuda-bench")
    except (ImportError, importlib.metadata.PackageNotFoundError):
        return None


def load_package() -> Any:
    """NVBench's module with its extension loaded. Raises RivalMissing."""
    package = import_rival("cuda.bench")
    try:
        # Loaded on first use: it asks cuda-bindings, a package of its own, which CUDA this is.
        _ = package.run_all_benchmarks
    except (ImportError, AttributeError) as error:
        raise RivalMissing(f"cuda-bench cannot be loaded: {error}") from error
    return package


@dataclass(frozen=True)
class Cold:
    """NVBench's cold measurement of one arm."""

    ms: float
    statistic: str
    """median, or mean where an older version gives no median."""
    samples: int
    clock_mhz: float | None
    """Mean SM clock during the samples."""


def parse_summaries(document: Json) -> Cold | None:
    """Return the cold time of the only state in NVBench's JSON, or None where it has none."""
    values: dict[str, str] = {}
    for benchmark in document.get("benchmarks", []):
        for state in benchmark.get("states") or []:
            for summary in state.get("summaries") or []:
                for datum in summary.get("data") or []:
                    if datum.get("name") == "value":
                        values[summary["tag"]] = datum["value"]
    clock = round(float(values[CLOCK]) * 1e-6, 3) if CLOCK in values else None
    for tag, statistic in ((MEDIAN, "median"), (MEAN, "mean")):
        if tag in values:
            samples = int(float(values.get(SAMPLES, 0)))
            return Cold(float(values[tag]) * 1e3, statistic, samples, clock)
    return None


def arguments(json_path: Path) -> list[str]:
    """NVBench's command line, its program name first. CUDA_VISIBLE_DEVICES names one GPU."""
    return [
        "assay", "--devices", "0", "--quiet", "--timeout", str(TIMEOUT_S),
        "--stopping-criterion", "sample-count", "--target-samples", str(NVBENCH_SAMPLES),
        "--json", str(json_path),
    ]  # fmt: skip


def time_cold(package: Any, launch: Any) -> Cold | None:
    """NVBench's cold time of a launch on the first device."""

    def measure(state: Any) -> None:
        with contextlib.suppress(AttributeError):
            state.set_blocking_kernel_timeout(BLOCKING_TIMEOUT_S)
            state.set_throttle_threshold(THROTTLE_FRACTION)

        def run(launched: Any) -> None:
            # NVBench brackets what is on its own stream: whatever launches must use that one.
            stream = torch.cuda.ExternalStream(launched.get_stream().addressof())
            with torch.cuda.stream(stream):
                launch()

        state.exec(run, batched=False)

    package.register(measure)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "nvbench.json")
        package.run_all_benchmarks(arguments(path))
        return parse_summaries(json.loads(path.read_text(encoding="utf-8")))


def time_arm(package: Any, arm: ArmSpec, note: Note) -> Json:
    """Return both stopwatches on one arm, in this process."""
    note("prepare")
    prepared = prepare_arm(arm, make_inputs(arm.workload, DEVICE, arm.workload.seed))
    for _ in range(WARM_LAUNCHES):
        prepared.launch()
    torch.cuda.synchronize()
    note("events")
    stopwatch = CudaStopwatch(cold=True)
    stopwatch.turn(prepared.launch, EVENT_SAMPLES, 1.0)
    timing = stopwatch.turn(prepared.launch, EVENT_SAMPLES, 1.0)
    note("nvbench")
    found = time_cold(package, prepared.launch)
    if found is None:
        raise RuntimeError("NVBench gave no cold time")
    return {
        "events_median_ms": statistics.median(timing.times_ms),
        "nvbench_cold_ms": found.ms,
        "nvbench_statistic": found.statistic,
        "nvbench_samples": found.samples,
        "nvbench_clock_mhz": found.clock_mhz,
    }


def arm_record(arm: ArmSpec, status: str, detail: str, times: Json | None = None) -> Json:
    """Return the StopwatchArm record."""
    return {
        "arm": arm.id,
        "variant": arm.variant.id,
        "workload": arm.workload.id,
        "binary_sha256": arm.artifact.sha256 if arm.artifact else None,
        "status": status,
        "detail": detail,
        **(times or dict.fromkeys(TIMES)),
    }


def run_stopwatch(job: StopwatchJob, gpu: OpenGpu) -> Json:
    """Return the StopwatchRecord of ``timed`` arms; one that fails has a status, not a time."""
    version = installed_version()
    arms = [arm for arm in job.comparison.arms if arm.id in job.timed]
    records = []
    for number, arm in enumerate(arms, start=1):
        if version is None:
            detail = "the device Python lacks cuda-bench"
            records.append(arm_record(arm, "not_installed", detail))
            continue

        def work(note: Note, arm: ArmSpec = arm) -> Json:
            open_cuda(gpu.choice)
            try:
                return time_arm(load_package(), arm, note)
            except Unsupported as error:
                return {"status": error.kind.value, "detail": str(error)}

        outcome = run_child(work, DEADLINE_S)
        value = outcome.value
        if value is None:
            records.append(arm_record(arm, "failed", f"{outcome.note}: {outcome.error}"))
        elif "status" in value:
            records.append(arm_record(arm, value["status"], value["detail"]))
        else:
            records.append(arm_record(arm, "collected", "", value))
        progress(number, len(arms), f"{arm.id}: {records[-1]['status']}")
    return {
        "schema": "assay/stopwatch/1",
        "comparison": job.comparison.id,
        "target": job.target.id,
        "gpu_uuid": gpu.choice.uuid,
        "recorded_at": utc_now(),
        "nvbench": version,
        "arms": records,
    }
