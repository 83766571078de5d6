"""Records as pandas data frames: builds, turns, samples, telemetry, verdicts. Pure.

Each frame has exactly the columns of its table below, in that order and with those dtypes, also
where it has no row. Rows stand in the order of the records. ``NaN`` stands for what a record does
not say. Join frames on the columns that they share.

    from assay.evidence.load import load_evidence
    from assay.frames import samples

    evidence = load_evidence(Path("reports/published/RUN/evidence"))
    frame = samples(evidence.benchmarks.values())
    frame[~frame.discarded].groupby(["comparison", "arm"], observed=True).time_ms.median()
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from assay.records.builds import BuildRecord
from assay.records.measurements import BenchmarkRecord
from assay.records.verdicts import VerdictsFile


class Column(NamedTuple):
    """One column of a frame."""

    name: str
    dtype: str
    says: str
    """What it holds, with its unit."""


MEASURED = (
    Column("target", "category", "target id"),
    Column("comparison", "category", "comparison id"),
    Column("process", "int64", "index of the fresh process, from 0"),
)
"""What every frame of a benchmark starts with."""

TURN = (
    *MEASURED,
    Column("block", "int64", "ABBA block in its process, from 0"),
    Column("turn", "int64", "turn in its block, from 0"),
    Column("arm", "category", "arm id, or control for the second name of the A/A arm"),
    Column("discarded", "bool", "whether the block does not count"),
    Column("clock_mhz", "float64", "mean SM clock of the turn, MHz"),
)
"""What a turn and each of its launches have in common."""

TURNS = (
    *TURN,
    Column("started_s", "float64", "s since the process's first telemetry sample"),
    Column("ended_s", "float64", "s since the process's first telemetry sample"),
    Column("launches", "int64", "timed launches"),
)
"""One row a turn: consecutive launches of one arm."""

SAMPLES = (
    *TURN,
    Column("launch", "int64", "launch in its turn, from 0"),
    Column("time_ms", "float64", "time of the launch, ms"),
    Column("cycles", "float64", "the same in SM cycles, at the mean clock of the turn"),
)
"""One row a timed launch."""

TELEMETRY = (
    *MEASURED,
    Column("at_s", "float64", "s since the process's first telemetry sample"),
    Column("clock_sm_mhz", "int64", "SM clock, MHz"),
    Column("clock_memory_mhz", "int64", "memory clock, MHz"),
    Column("power_w", "float64", "power draw, W"),
    Column("temperature_c", "int64", "GPU temperature, degrees Celsius"),
    Column("event_reasons", "int64", "NVML's bit mask of clock-event reasons"),
)
"""One row an NVML sample."""

VERDICTS = (
    Column("claim", "str", "claim id"),
    Column("source", "category", "source id"),
    Column("target", "category", "target id; NaN where the claim needs none"),
    Column("status", "category", "the verdict"),
    Column("reason", "str", "code of the reason, where there is one"),
    Column("artifact", "category", "original, reimplemented, arithmetic or inspection"),
    Column("unit", "category", "unit of claimed, measured and the interval"),
    Column("claimed", "float64", "claimed figure; NaN where the claim states none or a word"),
    Column("measured", "float64", "measured figure; NaN where there is none or a word"),
    Column("low", "float64", "lower end of the confidence interval"),
    Column("high", "float64", "upper end of the confidence interval"),
    Column("margin", "float64", "half-width of the margin, a fraction"),
    Column("noise_floor", "float64", "of the A/A control, a fraction"),
    Column("roofline_fraction", "float64", "measured rate over the roofline bound, a fraction"),
)
"""One row a verdict."""

BUILDS = (
    Column("id", "str", "variant, program or probe"),
    Column("kind", "category", "variant, program or probe"),
    Column("arch", "category", "architecture flags, such as sm_90a"),
    Column("status", "category", "built or failed"),
    Column("key", "str", "SHA-256 of sources, command and toolchain lock"),
    Column("binary_sha256", "str", "SHA-256 of the binary; NaN where none was built"),
    Column("binary_bytes", "float64", "size of the binary, bytes; NaN where none was built"),
    Column("kernels", "int64", "kernel entries that ptxas reports of"),
    Column("registers", "float64", "most registers a thread of any entry, NaN without an entry"),
    Column("spill_bytes", "int64", "spill stores and loads of all entries, bytes"),
    Column("toolchain", "category", "version of nvcc"),
    Column("built_elsewhere", "bool", "whether a prebuilt binary was taken over"),
)
"""One row a build."""


def turns(records: Iterable[BenchmarkRecord]) -> pd.DataFrame:
    """Return every turn of benchmark records, with the columns ``TURNS``."""
    return _frame(TURNS, [(*shared, *own) for shared, own, _ in _turns(records)])


def samples(records: Iterable[BenchmarkRecord]) -> pd.DataFrame:
    """Return every timed launch of benchmark records, with the columns ``SAMPLES``."""
    found = list(_turns(records))
    counts = [len(times) for *_, times in found]
    every = _frame(TURN, [shared for shared, *_ in found])
    frame = every.loc[every.index.repeat(counts)].reset_index(drop=True)
    frame["launch"] = np.concatenate([np.zeros(0, np.int64), *map(np.arange, counts)])
    frame["time_ms"] = np.array([time for *_, times in found for time in times], np.float64)
    frame["cycles"] = frame.time_ms * frame.clock_mhz * 1e3
    return frame


def telemetry(records: Iterable[BenchmarkRecord]) -> pd.DataFrame:
    """Return every telemetry sample of benchmark records, with the columns ``TELEMETRY``."""
    rows = (
        (record.target, record.comparison, process.index, *sample)
        for record in records
        for process in record.processes
        for sample in zip(*_columns_of(process.telemetry), strict=True)
    )
    return _frame(TELEMETRY, list(rows))


def verdicts(file: VerdictsFile) -> pd.DataFrame:
    """Return the verdicts of a run, with the columns ``VERDICTS``."""
    rows = [
        (
            v.claim,
            v.source,
            v.target,
            v.status.value,
            v.reason,
            v.artifact,
            v.unit,
            _figure(v.claimed),
            _figure(v.measured),
            *(v.ci90 or (None, None)),
            v.margin,
            v.noise_floor,
            v.roofline_fraction,
        )
        for v in file.verdicts
    ]
    return _frame(VERDICTS, rows)


def builds(records: Iterable[BuildRecord]) -> pd.DataFrame:
    """Return build records, with the columns ``BUILDS``."""
    rows = [
        (
            build.id,
            build.kind,
            build.arch,
            build.status,
            build.key,
            build.artifact.sha256 if build.artifact else None,
            build.artifact.bytes if build.artifact else None,
            len(build.resources),
            max((entry.registers for entry in build.resources), default=None),
            sum(e.spill_store_bytes + e.spill_load_bytes for e in build.resources),
            build.toolchain.nvcc,
            build.built_elsewhere,
        )
        for build in records
    ]
    return _frame(BUILDS, rows)


_Turn = tuple[tuple[object, ...], tuple[object, ...], Sequence[float]]


def _turns(records: Iterable[BenchmarkRecord]) -> Iterator[_Turn]:
    """Yield of every turn the values of ``TURN``, those that ``TURNS`` adds, and its samples."""
    for record in records:
        for process in record.processes:
            for number, block in enumerate(process.blocks):
                place = (record.target, record.comparison, process.index, number)
                discarded = block.void is not None
                for index, turn in enumerate(block.turns):
                    times = turn.times_ms
                    yield (
                        (*place, index, turn.arm, discarded, turn.clock_mhz),
                        (turn.started_s, turn.ended_s, len(times)),
                        times,
                    )


def _columns_of(found: Any) -> list[Sequence[float]]:
    """Return telemetry's columns in the order of ``TELEMETRY``."""
    own = TELEMETRY[len(MEASURED) :]
    return [getattr(found, column.name) for column in own]


def _figure(value: float | str | None) -> float | None:
    return None if isinstance(value, str) else value


def _frame(columns: Sequence[Column], rows: Sequence[tuple[object, ...]]) -> pd.DataFrame:
    """Return rows as a frame of these columns and dtypes."""
    by_column = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return pd.DataFrame(
        {
            column.name: pd.Series(list(values), dtype=column.dtype)
            for column, values in zip(columns, by_column, strict=True)
        }
    )
