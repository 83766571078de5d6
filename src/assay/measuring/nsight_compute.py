"""Nsight Compute around one launch of each arm. Its times are never judged.

All arms share one start of the profiler, which takes far longer than a launch. The device side
launches a mark before each arm, which tells whose kernels are whose. Where that does not come out
even, and for an arm that failed beside others, each arm gets a start of its own.
"""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.progress import say
from assay.base.signals import deadline, left_until
from assay.evidence.nsight_csv import CLOCK, DURATION, longest_kernel, split_raw_page
from assay.evidence.outcomes import failed_profile
from assay.measuring.device_process import device_environment, run_device_batch
from assay.measuring.host_machine import now
from assay.records.base import GpuSpan, Record
from assay.records.side_evidence import MetricStatus, ProfileRecord
from assay.runtimes.base import Bind, Place, Task
from assay.runtimes.containers import one_line
from assay.shared.job import ProfileJob

PATIENCE_S = 360.0
"""Most seconds of all arms: each that hangs in a start of its own takes from the others behind."""
TOGETHER_S = 240.0
ALONE_S = 60.0
FINAL = ("collected", "permission_denied")
"""Statuses by which an arm is not tried again in a start of its own."""
PERMISSION_ERROR = "ERR_NVGPUCTRPERM"
SECTIONS = (
    "SpeedOfLight", "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "Occupancy", "LaunchStats",
    "WarpStateStats",
)  # fmt: skip
METRICS = (
    DURATION,
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes.sum",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__t_sector_hit_rate.pct",
    "launch__registers_per_thread",
    "launch__occupancy_limit_registers",
    "launch__shared_mem_per_block",
    "smsp__cycles_active.avg",
    CLOCK,
)
"""Metrics lifted from the raw page into the record; the whole page is kept beside them."""


class ProfileDone(Record):
    """The device side's word on an arm whose mark was launched."""

    ok: bool
    detail: str
    """Why the launch behind the mark failed, if it did."""
    on_gpu: GpuSpan | None = None


def profile_arms(
    place: Place, jobs: Sequence[ProfileJob], gpu_uuid: str
) -> list[ProfileRecord | CheckFailed]:
    """Profile each job's arm; the driver's refusal is a status. CheckFailed stands for an arm whose
    profile cannot be read, that hung, or that no time was left for.
    """
    end = time.monotonic() + PATIENCE_S
    ncu = place.ncu()
    if ncu is None:
        detail = f"Nsight Compute (ncu) is not installed on {place.runtime.describe()}"
        return [_record(job, gpu_uuid, "not_installed", detail) for job in jobs]
    found: list[ProfileRecord | None] = [None] * len(jobs)
    if len(jobs) > 1:
        try:
            with deadline(TOGETHER_S):
                found = [
                    record if record.status in FINAL else None
                    for record in _profiled(place, ncu, jobs, gpu_uuid)
                ]
        except (CheckFailed, MissingEnvironment) as error:
            say(f"profile: not in one start: {error}")
    return [
        record or _alone(place, ncu, job, gpu_uuid, end)
        for record, job in zip(found, jobs, strict=True)
    ]


def _alone(
    place: Place, ncu: str, job: ProfileJob, gpu_uuid: str, end: float
) -> ProfileRecord | CheckFailed:
    """Return one arm under a start of its own, while it is not yet ``end`` (a monotonic time)."""
    try:
        with deadline(min(ALONE_S, left_until(end))):
            return _profiled(place, ncu, [job], gpu_uuid)[0]
    except MissingEnvironment as error:
        return _record(job, gpu_uuid, "unsupported", one_line(str(error)))
    except CheckFailed as error:
        return error


def _profiled(
    place: Place, ncu: str, jobs: Sequence[ProfileJob], gpu_uuid: str
) -> list[ProfileRecord]:
    """Profile once; return what came of each arm. Raises as run_device_batch and _raw_page."""
    with tempfile.TemporaryDirectory(prefix="assay-ncu-") as scratch:
        report = Path(scratch, "profile.ncu-rep")
        log = Path(scratch, "ncu.log")
        under = [
            ncu, "--target-processes", "all", "--profile-from-start", "off",
            "--clock-control", "none", "--cache-control", "all", "--log-file", str(log),
            "--export", str(report), "--metrics", ",".join(METRICS),
            *(part for section in SECTIONS for part in ("--section", section)),
        ]  # fmt: skip
        results = run_device_batch(
            place, jobs, ProfileDone, under=under, files=[Path(scratch)], echo=False
        )
        said = log.read_text() if log.is_file() else ""
        page = _raw_page(place, ncu, report) if report.is_file() else ""
    if PERMISSION_ERROR in said:  # it ends as after any other failure: only its log tells
        return [_record(job, gpu_uuid, "permission_denied", one_line(said)) for job in jobs]
    # Which kernels are whose is told by marks alone: where one is missing, nobody's are known.
    marked = sum(isinstance(result, ProfileDone) for result in results)
    parts = split_raw_page(page)
    pages = iter(parts if len(parts) == marked else [""] * marked)
    records = []
    for job, result in zip(jobs, results, strict=True):
        part = next(pages) if isinstance(result, ProfileDone) else ""
        if isinstance(result, ProfileDone) and result.ok:
            records.append(_from_raw_page(job, gpu_uuid, part, result.on_gpu))
        else:
            why = result.detail if isinstance(result, ProfileDone) else said or str(result)
            records.append(_record(job, gpu_uuid, "unsupported", one_line(why)))
    return records


def _raw_page(place: Place, ncu: str, report: Path) -> str:
    """Return a profile's raw page as CSV. Raises CheckFailed when ncu cannot read its own file."""
    lines: list[str] = []
    outcome = place.run(
        Task(
            command=(
                ncu, "--import", str(report), "--page", "raw", "--csv", "--print-units", "base",
            ),
            directory=report.parent,
            label="read a profile",
            environment=device_environment(place),
            inherit=True,
            binds=(Bind(report.parent, writable=True),),
        ),
        lines.append,
    )  # fmt: skip
    if outcome.exit_code != 0:
        raise CheckFailed(f"ncu cannot read the profile it wrote: {one_line(' '.join(lines))}")
    return "\n".join(lines)


def _record(
    job: ProfileJob, gpu_uuid: str, status: MetricStatus, detail: str, **found: object
) -> ProfileRecord:
    nothing = failed_profile(job, gpu_uuid, now(), detail)
    return nothing.model_copy(update={"status": status, **found})


def _from_raw_page(
    job: ProfileJob, gpu_uuid: str, page: str, on_gpu: GpuSpan | None
) -> ProfileRecord:
    try:
        kernel = longest_kernel(page)
    except ValueError as error:
        return _record(job, gpu_uuid, "unsupported", str(error), on_gpu=on_gpu)
    metrics = {name: kernel.values[name] for name in METRICS if name in kernel.values}
    found = {"kernel": kernel.name, "metrics": metrics, "raw_page": page, "on_gpu": on_gpu}
    units = {name: kernel.units[name] for name in metrics}
    return _record(job, gpu_uuid, "collected", "", units=units, **found)
