"""Nsight Compute's raw page: a CSV table with a row of names, a row of units and a row a kernel.

Its length is bounded as that of any string of a record is.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from assay.records.side_evidence import ProfileRecord

DURATION = "gpu__time_duration.sum"
CLOCK = "gpc__cycles_elapsed.avg.per_second"
MS = {"ns": 1e-6, "nsecond": 1e-6, "us": 1e-3, "usecond": 1e-3, "ms": 1.0, "msecond": 1.0}
"""Milliseconds in each unit of time that Nsight Compute names."""
HZ = ("hz", "cycle/second")
"""Names of the unit that Nsight Compute gives a clock in, asked for base units."""
NS_IN_MS = 1e6
HZ_IN_MHZ = 1e6
MOST_COLUMNS = 20_000
"""Nsight Compute has some 2,000 metrics, and 400 are collected."""
_NUMBER = re.compile(r"[-+]?[0-9]{1,20}(\.[0-9]{0,20})?([eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True)
class ProfiledKernel:
    """One profiled kernel; ``values`` and ``units`` by metric, of all that are numbers."""

    name: str
    values: dict[str, float]
    units: dict[str, str]


def split_raw_page(page: str) -> list[str]:
    """Return a raw page with its heads for each arm, without the marks, which are the first kernel
    and every other of its name; none where the page does not begin with a mark.
    """
    try:
        rows = _rows(page)
    except ValueError:
        return []
    if len(rows) < 3 or "Kernel Name" not in rows[0]:
        return []
    column = rows[0].index("Kernel Name")
    parts: list[list[list[str]]] = []
    for row in rows[2:]:
        if row[column] == rows[2][column]:
            parts.append([*rows[:2]])
        else:
            parts[-1].append(row)
    return [_as_csv(part) for part in parts]


def longest_kernel(page: str) -> ProfiledKernel:
    """Return the kernel that took longest. Raises ValueError without one, or without times."""
    rows = _rows(page)
    if len(rows) < 3:
        raise ValueError("the raw page holds no profiled kernel")
    header, units = rows[0], dict(zip(rows[0], rows[1], strict=True))
    if DURATION not in units:
        raise ValueError("the raw page tells of no time")
    name = header.index("Kernel Name")
    kernels = []
    for row in rows[2:]:
        numbers = zip(header, map(_number, row), strict=True)
        values = {metric: value for metric, value in numbers if value is not None}
        kernels.append(ProfiledKernel(row[name], values, units))
    return max(kernels, key=lambda kernel: kernel.values.get(DURATION, 0.0))


def duration_ns(page: str) -> float | None:
    """Return the time of all of a launch's kernels, in ns; None where one's is not told."""
    unit, times = _column(page, DURATION)
    return sum(times) * MS[unit] * NS_IN_MS if times and unit in MS else None


def clock_hz(page: str) -> float | None:
    """Return the mean SM clock of a launch's kernels by their times, in Hz; None if not told."""
    (_, times), (unit, clocks) = _column(page, DURATION), _column(page, CLOCK)
    if not sum(times) or not clocks or unit not in HZ:
        return None
    return sum(time * hz for time, hz in zip(times, clocks, strict=True)) / sum(times)


def launch_ms(profile: ProfileRecord) -> float | None:
    """Return a launch's time in ms: of all kernels, or without a page the longest; or None."""
    if (whole := duration_ns(profile.raw_page or "")) is not None:
        return whole / NS_IN_MS
    value, factor = profile.metrics.get(DURATION), MS.get(profile.units.get(DURATION, ""))
    return value * factor if value is not None and factor is not None else None


def launch_clock_mhz(profile: ProfileRecord) -> float | None:
    """Return the mean SM clock of what ``launch_ms`` counts, in MHz; None without Hz."""
    hz = clock_hz(profile.raw_page or "")
    if hz is None and profile.units.get(CLOCK) in HZ:
        hz = profile.metrics.get(CLOCK)
    return None if hz is None else hz / HZ_IN_MHZ


def _column(page: str, metric: str) -> tuple[str, list[float]]:
    """Return the unit and the values of a metric of every kernel; none where one lacks it."""
    try:
        header, units, *kernels = _rows(page)
        column = header.index(metric)
    except ValueError:
        return "", []
    found = [value for row in kernels if (value := _number(row[column])) is not None]
    return (units[column], found) if kernels and len(found) == len(kernels) else ("", [])


@lru_cache(maxsize=8)
def _rows(page: str) -> list[list[str]]:
    """Return the table of a raw page, without what the profiler says before and behind it."""
    table = page[page.index('"ID"') :] if '"ID"' in page else page
    try:
        rows = list(csv.reader(io.StringIO(table)))
    except csv.Error as error:
        raise ValueError(f"the raw page is no table: {error}") from error
    if rows and len(rows[0]) > MOST_COLUMNS:
        raise ValueError(f"the raw page has more than {MOST_COLUMNS:,} columns")
    return [row for row in rows if len(row) == len(rows[0])]


def _as_csv(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _number(text: str) -> float | None:
    """Return a cell's finite number, or None for anything else."""
    plain = text.replace(",", "").strip()
    return value if _NUMBER.fullmatch(plain) and math.isfinite(value := float(plain)) else None
