"""Records as pandas data frames: the turns of benchmarks. Pure.

A frame has exactly the columns of its table below, in that order and with those dtypes, also
where it has no row. Rows stand in the order of the records. ``NaN`` stands for what a record does
not say. Only what the package tabulates has a frame: records walked once are shorter and quicker
without.

    from assay.evidence.load import load_evidence
    from assay.frames import turns

    evidence = load_evidence(Path("reports/published/RUN/evidence"))
    frame = turns(evidence.benchmarks.values())
    frame[~frame.discarded].groupby(["comparison", "arm"], observed=True).clock_mhz.median()
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pandas as pd

from assay.records.measurements import BenchmarkRecord


class Column(NamedTuple):
    """One column of a frame."""

    name: str
    dtype: str
    says: str
    """What it holds, with its unit."""


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
    return _frame(TURNS, rows)


def _frame(columns: Sequence[Column], rows: Sequence[tuple[object, ...]]) -> pd.DataFrame:
    """Return rows as a frame of these columns and dtypes."""
    by_column = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return pd.DataFrame(
        {
            column.name: pd.Series(list(values), dtype=column.dtype)
            for column, values in zip(columns, by_column, strict=True)
        }
    )
