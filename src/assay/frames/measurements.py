"""Frames of measurements: turns of benchmarks, their samples, telemetry. Pure."""

from collections.abc import Iterable, Iterator, Mapping

import pandas as pd

from assay.frames.columns import Column, frame_of_columns
from assay.records.measurements import BenchmarkRecord, ProgramRecord, Telemetry

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
    return frame_of_columns(SAMPLES, map(list, zip(*rows, strict=True)) if rows else [[]] * 9)


def telemetry(
    benchmarks: Iterable[BenchmarkRecord],
    programs: Mapping[tuple[str, str], ProgramRecord],
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
    rows = [row for head, recording in told for row in _sampled(head, recording)]
    return frame_of_columns(TELEMETRY, map(list, zip(*rows, strict=True)) if rows else [[]] * 10)


def _sampled(head: tuple[object, ...], told: Telemetry) -> Iterator[tuple[object, ...]]:
    """Yield the rows of one recording; a quantity that NVML refused is NaN throughout."""
    count = len(told.at_s)
    nothing = (float("nan"),) * count
    columns = (
        told.at_s,
        told.clock_sm_mhz or nothing,
        told.clock_memory_mhz or nothing,
        told.power_w or nothing,
        told.temperature_c or nothing,
        told.event_reasons or (0,) * count,
    )
    for values in zip(*columns, strict=True):
        yield (*head, *values)
