"""Records as pandas data frames: verdicts, samples, telemetry, builds. Pure.

A frame has exactly the columns of its table, in that order and with those dtypes, also where it has
no row. Rows stand in the order of the records. ``NaN``, or ``None`` among texts, stands for what a
record does not say. ``assay.open_report`` gives a report's.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
import pandas as pd

from assay.records.builds import BuildRecord
from assay.records.measurements import BenchmarkRecord, ProgramRecord, Telemetry
from assay.records.units import better
from assay.records.verdicts import Verdict


class Column(NamedTuple):
    """One column of a frame."""

    name: str
    dtype: str
    says: str
    """What it holds, with its unit."""
    path: str = ""
    """Where a record has it, by attributes; under the column's name where not given."""


def _frame(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> pd.DataFrame:
    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    pairs = zip(columns, values, strict=True)
    return pd.DataFrame({column.name: pd.Series(of, dtype=column.dtype) for column, of in pairs})


def _row(columns: Sequence[Column], record: object, beside: Mapping[str, object]) -> list[object]:
    """Return a record's row; what stands ``beside`` it, by column, is no attribute of it."""
    return [beside[c.name] if c.name in beside else _at(record, c) for c in columns]


def _at(record: object, column: Column) -> object:
    for name in (column.path or column.name).split("."):
        record = None if record is None else getattr(record, name)
    return record.value if isinstance(record, Enum) else record


VERDICTS = (
    Column("claim", "object", "claim or audit id"),
    Column("source", "category", "source id"),
    Column("target", "category", "target id; none of what no GPU answers"),
    Column("kind", "category", "how it is counted: published, elsewhere, ratios, own, probes ..."),
    Column("counts", "bool", "whether its measurement counts by this row, and by no other"),
    Column("outcome", "category", "what it counts as: as_if where it has one, else status"),
    Column("status", "category", "reproduced, exceeded, not_reproduced, misstated ..."),
    Column("why", "category", "code of the cause that is known of the figure"),
    Column("why_on", "category", "the target that it was found on, where that is another row's"),
    Column("as_if", "category", "of a figure measured elsewhere: what it would be there"),
    Column("reason", "category", "code, of not_run and of failures with a nameable cause"),
    Column("artifact", "category", "original, library, reimplemented, arithmetic, inspection"),
    Column("relation", "category", "equals, same, at_least, at_most, or the audit's formula"),
    Column("claimed", "float64", "the printed figure, in unit"),
    Column("claimed_text", "object", "the same where it is no number"),
    Column("measured", "float64", "the measured figure, in unit"),
    Column("measured_text", "object", "the same where it is no number"),
    Column("unit", "category", "of claimed, measured and the interval"),
    Column("ci_low", "float64", "low end of the 90 % interval"),
    Column("ci_high", "float64", "high end of the 90 % interval"),
    Column("better", "int64", "1 where more is better, -1 where less is (times), 0 neither"),
    Column("margin", "float64", "declared before the run, a fraction"),
    Column("noise_floor", "float64", "of the A/A control, a fraction"),
    Column("samples", "float64", "timed launches, or runs"),
    Column("discarded_blocks", "float64", "blocks that do not count"),
    Column("roofline_fraction", "float64", "of the datasheet's roofline bound"),
    Column("gpu", "category", "product that was measured", "measured_on.product"),
    Column("gpu_uuid", "category", "the card"),
    Column("driver", "category", "NVIDIA driver", "measured_on.driver"),
    Column("vbios", "category", "of the card", "measured_on.vbios"),
    Column("power_limit_w", "float64", "power limit in force, W", "measured_on.power_limit_w"),
    Column(
        "recorded_at", "object", "when the machine was recorded, UTC", "measured_on.recorded_at"
    ),
    Column(
        "in_this_run",
        "object",
        "whether the report's own run measured it",
        "measured_on.in_this_run",
    ),
    Column("binary_sha256", "object", "the binary that was timed"),
    Column("explanation", "object", "what was run and how it stands to the claim"),
)
"""One row a verdict: one claim on one target."""


def verdicts(entries: Iterable[tuple[str, bool, Verdict]]) -> pd.DataFrame:
    """Return (kind, whether it counts, verdict) entries with the columns ``VERDICTS``."""
    rows = [
        _row(VERDICTS, verdict, {"kind": kind, "counts": counts, **_beside(verdict)})
        for kind, counts, verdict in entries
    ]
    return _frame(VERDICTS, rows)


def _beside(verdict: Verdict) -> dict[str, object]:
    found: dict[str, object] = {
        "outcome": (verdict.as_if or verdict.status).value,
        "ci_low": verdict.ci90 and verdict.ci90[0],
        "ci_high": verdict.ci90 and verdict.ci90[1],
        "better": better(verdict.unit, verdict.relation),
    }
    for name, value in (("claimed", verdict.claimed), ("measured", verdict.measured)):
        text = isinstance(value, str)
        found |= {name: None if text else value, f"{name}_text": value if text else None}
    return found


LEADERBOARD = (
    Column("problem", "object", "what is solved"),
    Column("solution", "object", "who solves it"),
    Column("reference", "object", "what it is held against"),
    Column("claim", "object", "claim id"),
    Column("target", "category", "target id"),
    Column("correct", "category", "yes or no; nothing where no check came to an end"),
    Column("solution_ms", "float64", "median time of a launch, ms; none of a wrong output"),
    Column("solution_low_ms", "float64", "low end of its 90 % interval"),
    Column("solution_high_ms", "float64", "high end of its 90 % interval"),
    Column("reference_ms", "float64", "median time of a launch of the reference, ms"),
    Column("speedup", "float64", "how many times as fast the solution is"),
    Column("low", "float64", "low end of its 90 % interval"),
    Column("high", "float64", "high end of its 90 % interval"),
    Column("rank", "float64", "by solution_ms among the problem's on the target, from 1"),
    Column("claimed", "float64", "the speed-up that is claimed; 1 where nobody claims one"),
    Column("verdict", "category", "reproduced, exceeded, not_reproduced, incorrect ..."),
    Column("cause", "object", "the checks that caught it, or the code of the verdict's cause"),
    Column("submission", "object", "GPU MODE: its file; its rows are the benchmarks of its task"),
    Column(
        "score_ms", "float64", "geometric mean of their solution_ms, where all of them have one"
    ),
    Column("score_low_ms", "float64", "low end of its 90 % interval"),
    Column("score_high_ms", "float64", "high end of its 90 % interval"),
)
"""One row a verdict on how many times as fast one arm is as another."""


def leaderboard(rows: Iterable[Mapping[str, object]]) -> pd.DataFrame:
    """Return rows with the columns ``LEADERBOARD``."""
    frame = _frame(LEADERBOARD, [_row(LEADERBOARD, None, row) for row in rows])
    frame["rank"] = frame.groupby(["problem", "target"], observed=True).solution_ms.rank("min")
    task, took = [frame.submission, frame.target], np.log(frame.solution_ms)
    of_task = took.groupby(task, observed=True)
    score = of_task.transform(lambda each: each.mean(skipna=False))
    frame["score_ms"] = np.exp(score)
    for end, sign in (("low", -1), ("high", 1)):  # its benchmarks scatter each for itself
        halves = ((np.log(frame[f"solution_{end}_ms"]) - took) ** 2).groupby(task, observed=True)
        half = halves.transform(lambda each: math.sqrt(each.sum(skipna=False)) / len(each))
        frame[f"score_{end}_ms"] = np.exp(score + sign * half)
    return frame


SAMPLES = (
    Column("target", "category", "target id"),
    Column("comparison", "category", "comparison id"),
    Column("process", "int64", "index of the fresh process, from 0"),
    Column("block", "int64", "ABBA block in its process, from 0"),
    Column("turn", "int64", "turn in its block, from 0"),
    Column("arm", "category", "arm id, or control for the second name of the A/A arm"),
    Column("discarded", "bool", "whether the block does not count"),
    Column("launch", "int64", "launch in its turn, from 0"),
    Column("time_ms", "float64", "time of the launch, ms"),
)
"""One row a timed launch: the raw samples that verdicts are judged from."""
TELEMETRY = (
    Column("target", "category", "target id"),
    Column("stage", "category", "benchmark or program"),
    Column("name", "category", "comparison id, or id of the program's job"),
    Column("process", "int64", "index of the fresh process, from 0; 0 of a program's runs"),
    Column("at_s", "float64", "s since the first sample of the process, or of the runs"),
    Column("clock_sm_mhz", "float64", "SM clock, MHz"),
    Column("clock_memory_mhz", "float64", "memory clock, MHz"),
    Column("power_w", "float64", "board power, W"),
    Column("temperature_c", "float64", "GPU temperature, degrees Celsius"),
    Column("event_reasons", "int64", "NVML clock-event reasons, a bit mask"),
)
"""One row a sample of NVML."""


def samples(records: Iterable[BenchmarkRecord]) -> pd.DataFrame:
    """Return every timed launch of benchmark records, with the columns ``SAMPLES``."""
    turns = [
        (
            (record.target, record.comparison, process.index, number, index, turn.arm,
             block.void is not None),
            turn.times_ms,
        )
        for record in records
        for process in record.processes
        for number, block in enumerate(process.blocks)
        for index, turn in enumerate(block.turns)
    ]  # fmt: skip
    rows = [(*head, launch, ms) for head, times in turns for launch, ms in enumerate(times)]
    return _frame(SAMPLES, rows)


def telemetry(
    benchmarks: Iterable[BenchmarkRecord], programs: Mapping[tuple[str, str], ProgramRecord]
) -> pd.DataFrame:
    """Return what NVML was asked meanwhile, with the columns ``TELEMETRY``.

    ``programs``: by target and job.
    """
    told = [
        ((record.target, "benchmark", record.comparison, process.index), process.telemetry)
        for record in benchmarks
        for process in record.processes
    ]
    told += [((on, "program", job, 0), run.telemetry) for (on, job), run in programs.items()]
    return _frame(TELEMETRY, [row for head, recording in told for row in _sampled(head, recording)])


def _sampled(head: tuple[object, ...], told: Telemetry) -> Iterator[tuple[object, ...]]:
    """Yield the rows of one recording; a quantity that NVML refused is NaN throughout."""
    count = len(told.at_s)
    quantities = told.clock_sm_mhz, told.clock_memory_mhz, told.power_w, told.temperature_c
    columns = [each or (math.nan,) * count for each in quantities]
    for values in zip(told.at_s, *columns, told.event_reasons or (0,) * count, strict=True):
        yield (*head, *values)


BUILDS = (
    Column("of", "category", "run: compiled by it; else the target whose figures it came with"),
    Column("id", "object", "variant, program or probe"),
    Column("kind", "category", "variant, program or probe"),
    Column("arch", "category", "architecture, as nvcc names it"),
    Column("status", "category", "built or failed"),
    Column("key", "object", "SHA-256 of sources, command and toolchain lock"),
    Column("artifact_sha256", "object", "the library or program", "artifact.sha256"),
    Column("artifact_bytes", "float64", "its size", "artifact.bytes"),
    Column("code_sha256", "object", "machine code but for line tables"),
    Column("registers", "float64", "most of any entry, a thread"),
    Column("spilled_bytes", "float64", "stores and loads of all entries"),
    Column("static_shared_bytes", "float64", "most of any entry, a block"),
    Column("warps", "float64", "resident on a multiprocessor, the fewest of all entries"),
    Column("asserts", "object", "whether device code calls the assertion handler"),
    Column("built_elsewhere", "bool", "whether a prebuilt artifact was taken over"),
    Column("seconds", "float64", "wall clock of the compilation", "cost.seconds"),
    Column("cpu_seconds", "float64", "processor time", "cost.cpu_seconds"),
    Column("peak_bytes", "float64", "resident memory of its largest process", "cost.peak_bytes"),
    Column("nvcc", "category", "release of the compiler", "toolchain.nvcc"),
    Column("lock_sha256", "category", "digest of the toolchain's lock", "toolchain.lock_sha256"),
)


def builds(records: Iterable[tuple[str, BuildRecord]]) -> pd.DataFrame:
    """Return (of, record) pairs with the columns ``BUILDS``."""
    return _frame(BUILDS, [_row(BUILDS, record, _most_of(of, record)) for of, record in records])


def _most_of(of: str, record: BuildRecord) -> dict[str, object]:
    used = record.resources
    spilled = sum(each.spill_store_bytes + each.spill_load_bytes for each in used)
    return {
        "of": of,
        "registers": max((each.registers for each in used), default=None),
        "spilled_bytes": spilled if used else None,
        "warps": min((each.warps for each in record.occupancy or ()), default=None),
        "static_shared_bytes": max((each.static_shared_bytes for each in used), default=None),
    }


TABLES = {
    "verdicts": VERDICTS,
    "leaderboard": LEADERBOARD,
    "samples": SAMPLES,
    "telemetry": TELEMETRY,
    "builds": BUILDS,
}
