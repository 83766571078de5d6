"""Nsight Compute around one launch of one arm. Its times are never judged."""

import csv
import io
import tempfile
from pathlib import Path
from typing import Any

from assay.device_link import DeviceJobFailed, device_environment, run_device_job
from assay.errors import CheckFailed, MissingEnvironment
from assay.records.base import Record
from assay.records.measurements import MetricStatus, ProfileRecord
from assay.runtimes.base import Bind, Place, Task

PERMISSION_ERROR = "ERR_NVGPUCTRPERM"
SECTIONS = (
    "SpeedOfLight",
    "ComputeWorkloadAnalysis",
    "MemoryWorkloadAnalysis",
    "Occupancy",
    "LaunchStats",
    "WarpStateStats",
)
METRICS = (
    "gpu__time_duration.sum",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes.sum",
    "lts__t_sector_hit_rate.pct",
    "launch__registers_per_thread",
    "launch__occupancy_limit_registers",
    "launch__shared_mem_per_block",
    "smsp__cycles_active.avg",
)
"""Metrics lifted from the raw page into the record; the whole page is kept beside them."""


class ProfileDone(Record):
    """What the device side writes after a profiled launch."""

    ok: bool


def profile_arm(place: Place, job: dict[str, Any], gpu_uuid: str) -> ProfileRecord:
    """Profile the arm that ``job`` names; a refusal by the driver is a status, not an error."""
    ncu = place.ncu()
    if ncu is None:
        detail = f"Nsight Compute (ncu) is not installed on {place.runtime.describe()}"
        return _record(job, gpu_uuid, "not_installed", detail)
    with tempfile.TemporaryDirectory(prefix="assay-ncu-") as scratch:
        report = Path(scratch, "profile.ncu-rep")
        log = Path(scratch, "ncu.log")
        under = [
            ncu, "--target-processes", "all", "--profile-from-start", "off",
            "--clock-control", "none", "--cache-control", "all", "--log-file", str(log),
            "--export", str(report), "--metrics", ",".join(METRICS),
            *(part for section in SECTIONS for part in ("--section", section)),
        ]  # fmt: skip
        try:
            run_device_job(
                place,
                job,
                ProfileDone,
                under=under,
                files=[Path(scratch)],
                counters=True,
                echo=False,
            )
        except (DeviceJobFailed, MissingEnvironment) as error:
            text = log.read_text() if log.is_file() else str(error)
            status: MetricStatus = (
                "permission_denied" if PERMISSION_ERROR in text else "unsupported"
            )
            return _record(job, gpu_uuid, status, " ".join(text.split())[-300:])
        if not report.is_file():
            text = log.read_text() if log.is_file() else "ncu wrote no report"
            status = "permission_denied" if PERMISSION_ERROR in text else "unsupported"
            return _record(job, gpu_uuid, status, " ".join(text.split())[-300:])
        page = _raw_page(place, ncu, report)
    return _from_raw_page(job, gpu_uuid, page)


def _raw_page(place: Place, ncu: str, report: Path) -> str:
    """The raw page of a profile as CSV. Raises CheckFailed when ncu cannot read its own file."""
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
        raise CheckFailed(f"ncu cannot read the profile it wrote: {' '.join(lines)[-300:]}")
    return "\n".join(lines)


def _record(job: dict[str, Any], gpu_uuid: str, status: MetricStatus, detail: str) -> ProfileRecord:
    return ProfileRecord(
        schema="assay/profile/1",
        comparison=job["comparison"]["id"],
        arm=job["arm"],
        target=job["target"]["id"],
        gpu_uuid=gpu_uuid,
        status=status,
        detail=detail,
        kernel=None,
        metrics={},
        units={},
        raw_page=None,
    )


def parse_raw_page(page: str) -> tuple[str, dict[str, float], dict[str, str]]:
    """Kernel name, metrics and units of the longest kernel on a raw CSV page.

    The page has a header row, a row of units and one row a kernel. Raises ValueError when it has
    no kernel.
    """
    lines = page[page.index('"ID"') :] if '"ID"' in page else page
    rows = list(csv.reader(io.StringIO(lines)))
    if len(rows) < 3:
        raise ValueError("the raw page holds no profiled kernel")
    header, unit_row, kernels = rows[0], rows[1], rows[2:]
    duration = header.index("gpu__time_duration.sum")
    longest = max(kernels, key=lambda row: _number(row[duration]) or 0.0)
    metrics, units = {}, {}
    for name in METRICS:
        if name in header:
            value = _number(longest[header.index(name)])
            if value is not None:
                metrics[name], units[name] = value, unit_row[header.index(name)]
    return longest[header.index("Kernel Name")], metrics, units


def _from_raw_page(job: dict[str, Any], gpu_uuid: str, page: str) -> ProfileRecord:
    try:
        kernel, metrics, units = parse_raw_page(page)
    except ValueError as error:
        return _record(job, gpu_uuid, "unsupported", str(error))
    return _record(job, gpu_uuid, "collected", "").model_copy(
        update={"kernel": kernel, "metrics": metrics, "units": units, "raw_page": page}
    )


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None
