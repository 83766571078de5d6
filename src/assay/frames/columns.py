"""Columns of data frames, and frames of exactly these columns. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import pandas as pd


class Column(NamedTuple):
    """One column of a frame."""

    name: str
    dtype: str
    says: str
    """What it holds, with its unit."""
    path: str = ""
    """Where a record has it, by attributes; under the column's name where not given."""


def frame_of_records(
    columns: Sequence[Column], rows: Sequence[tuple[object, Mapping[str, object]]]
) -> pd.DataFrame:
    """Return a row a record; what stands beside it, by column, is no attribute of the record."""
    return frame_of_columns(
        columns,
        (
            [beside[c.name] if c.name in beside else _at(record, c) for record, beside in rows]
            for c in columns
        ),
    )


def _at(record: object, column: Column) -> object:
    for name in (column.path or column.name).split("."):
        record = None if record is None else getattr(record, name)
    return record.value if isinstance(record, Enum) else record


def frame_of_columns(columns: Sequence[Column], values: Iterable[object]) -> pd.DataFrame:
    """Return a frame of these columns and dtypes from the values of each."""
    return pd.DataFrame(
        {
            column.name: pd.Series(of, dtype=column.dtype)
            for column, of in zip(columns, values, strict=True)
        }
    )
