"""Frames of measurements: turns of benchmarks, their samples, telemetry. Pure."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pandas as pd

from assay.frames.columns import Column, frame_of_columns, frame_of_rows
from assay.records.measurements import BenchmarkRecord, ProgramRecord, Telemetry

TURNS = (
    Column("target", "category", "target id"),
    Column("comparison", "category", "comparison id"),
    Column("process", "int64", "index of the fresh process, from 0"),
    Column("block", "int64", "ABBA block in its process, from 0"),
    Column("turn", "int64", "turn in its block, from 0"),
    Column("arm", "category", "arm id, or control for the second name of the A/A arm"),
    Column("discarded", "bool", "whether the block does not count"),
    Column("clock_mhz", "float64", "mean SM clock of the turn, MHz"),
    Column("started_s", "float64", "s since the process's first telemetry sample"),
    Column("ended_s", "float64", "s since the process's first telemetry sample"),
    Column("launches", "int64", "timed launches"),
)
"""One row a turn: consecutive launches of one arm."""
SAMPLES = (
    *TURNS[:7],
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


def turns(records: Iterable[BenchmarkRecord]) -> pd.DataFrame:
    """Return every turn of benchmark records, with the columns ``TURNS``."""
    rows = [
        (
            record.target,
            record.comparison,
            process.index,
            number,
            index,
            turn.arm,
            block.void is not None,
            turn.clock_mhz,
            turn.started_s,
            turn.ended_s,
            len(turn.times_ms),
        )
        for record in records
        for process in record.processes
        for number, block in enumerate(process.blocks)
        for index, turn in enumerate(block.turns)
    ]
    return frame_of_rows(TURNS, rows)


def samples(records: Iterable[BenchmarkRecord]) -> pd.DataFrame:
    """Return every timed launch of benchmark records, with the columns ``SAMPLES``."""
    records = list(records)
    of_turns = turns(records)
    times = [
        turn.times_ms
        for record in records
        for process in record.processes
        for block in process.blocks
        for turn in block.turns
    ]
    repeated = of_turns.loc[of_turns.index.repeat(of_turns.launches)].reset_index(drop=True)
    launches = [np.arange(len(each)) for each in times]
    of_launches = (
        np.concatenate(launches) if launches else np.array([], dtype="int64"),
        np.concatenate(times) if times else np.array([], dtype="float64"),
    )
    heads = [repeated[column.name] for column in SAMPLES[:7]]
    return frame_of_columns(SAMPLES, [*heads, *of_launches])


def telemetry(
    benchmarks: Iterable[BenchmarkRecord],
    programs: Mapping[tuple[str, str], ProgramRecord],
) -> pd.DataFrame:
    """Return what NVML was asked meanwhile, with the columns ``TELEMETRY``.

    ``programs``: by target and job.
    """
    rows = [
        row
        for record in benchmarks
        for process in record.processes
        for row in _sampled(
            (record.target, "benchmark", record.comparison, process.index), process.telemetry
        )
    ]
    rows += [
        row
        for (target, job), run in programs.items()
        for row in _sampled((target, "program", job, 0), run.telemetry)
    ]
    return frame_of_rows(TELEMETRY, rows)


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
