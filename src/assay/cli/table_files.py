"""Data frames as files: CSV, JSON and Parquet."""

import importlib.util
import io
import json
from enum import StrEnum

import pandas as pd

from assay.base.errors import MissingEnvironment
from assay.base.printable import escaped_json, shown, shown_json
from assay.frames import TABLES
from assay.verification.open_report import OpenReport

COMPUTED = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that spreadsheets take for a formula."""


class Format(StrEnum):
    """The form in which a report is exported: tables, a citation or a badge."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    BIBTEX = "bibtex"
    SVG = "svg"

    @property
    def is_text(self) -> bool:
        """Return whether it is one text, and no tables."""
        return self in (Format.BIBTEX, Format.SVG)


def require_writer(wanted: Format) -> None:
    """Raise MissingEnvironment where nothing here writes a format."""
    if wanted is Format.PARQUET and importlib.util.find_spec("pyarrow") is None:
        raise MissingEnvironment(
            "Parquet is written with pyarrow, which this Python has not: start ./assay without "
            "ASSAY_NO_VENV, which installs it from requirements/parquet.txt, or pip install pyarrow"
        )


def table_bytes(frame: pd.DataFrame, wanted: Format) -> bytes:
    """Return a frame as a file's content: equal frames, equal bytes.

    CSV has a line of headings, and nothing where a value is missing; JSON is a list of objects, one
    a row, with null there. Floats are written so that they are read back as they were. What is
    unseen in a text, as what steers a terminal, is spelled out: ``\\x1b`` in CSV, as JSON does in
    JSON. A text that a spreadsheet would compute has an apostrophe before it in CSV.
    """
    if wanted is Format.CSV:
        return _csv_frame(frame).to_csv(index=False, lineterminator="\n").encode()
    if wanted is Format.JSON:
        return _json_rows(frame)
    stream = io.BytesIO()
    frame.to_parquet(stream, engine="pyarrow", index=False, compression="zstd")
    return stream.getvalue()


def _csv_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts are safe to open in a terminal and in a spreadsheet."""
    columns = {}
    for name in frame:
        values = frame[name]
        if pd.api.types.is_numeric_dtype(values.dtype):
            columns[name] = values
        else:
            known = {value: _csv_cell(value) for value in values.unique()}
            columns[name] = values.astype(object).map(known)
    return pd.DataFrame(columns, columns=frame.columns)


def _csv_cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    return f"'{shown(value)}" if value.startswith(COMPUTED) else shown(value)


def _json_rows(frame: pd.DataFrame) -> bytes:
    """Return a line an object, in one list."""
    plain = frame.astype(object).where(frame.notna(), None)
    rows = (escaped_json(json.dumps(row, ensure_ascii=False)) for row in plain.to_dict("records"))
    return ("[\n" + ",\n".join(rows) + "\n]\n").encode()


def about(report: OpenReport) -> bytes:
    """Return a JSON document of what the tables are of, and what each column holds."""
    document = {
        "schema": "assay/tables/1",
        "run": report.run,
        "commit": report.commit,
        "created": report.created,
        "signed_by": report.keyid,
        "judged_again": report.judged,
        "manifest_sha256": report.manifest_sha256,
        "tables": {
            name: [{"column": c.name, "dtype": c.dtype, "holds": c.says} for c in columns]
            for name, columns in TABLES.items()
        },
    }
    return f"{shown_json(document)}\n".encode()
