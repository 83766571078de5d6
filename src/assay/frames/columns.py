"""Columns of data frames, and frames of exactly these columns. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pandas as pd


class Column(NamedTuple):
    """One column of a frame."""

    name: str
    dtype: str
    says: str
    """What it holds, with its unit."""


def frame_of_rows(columns: Sequence[Column], rows: Sequence[tuple[object, ...]]) -> pd.DataFrame:
    """Return rows as a frame of these columns and dtypes."""
    by_column = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return pd.DataFrame(
        {
            column.name: pd.Series(list(values), dtype=column.dtype)
            for column, values in zip(columns, by_column, strict=True)
        }
    )


def frame_of_columns(columns: Sequence[Column], values: Iterable[object]) -> pd.DataFrame:
    """Return a frame of these columns and dtypes from the values of each."""
    return pd.DataFrame(
        {
            column.name: pd.Series(of, dtype=column.dtype)
            for column, of in zip(columns, values, strict=True)
        }
    )
