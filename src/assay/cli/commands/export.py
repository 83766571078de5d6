"""``./assay export``: write a report as tables, a summary, a citation or a badge."""

import importlib.util
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from assay import __version__
from assay.base.errors import BadInput, MissingEnvironment
from assay.base.io import read_text
from assay.base.printable import escaped_json, shown, shown_json
from assay.base.progress import say as progress
from assay.base.strict_yaml import parse_yaml
from assay.base.writable import require_file_place, require_folder_place
from assay.catalog.project_folder import project_of
from assay.cli import checkout
from assay.cli import options as opt
from assay.cli.commands.verify import SHORT
from assay.cli.console import say
from assay.cli.given_reports import figures_of_contents
from assay.frames import TABLES
from assay.report.quoted_report import badge, bibtex, markdown_summary
from assay.shared.counting import counted
from assay.shared.files import write_bytes
from assay.verification.open_report import OpenReport, open_report
from assay.verification.report_archive import opened_report, report_name
from assay.verification.trusted_keys import load_trusted_keys, trusted_keys

CITATION, ABOUT = "CITATION.cff", "about.json"
COMPUTED = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that spreadsheets take for a formula."""


class Format(StrEnum):
    """The form in which a report is exported: tables, a summary, a citation or a badge."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    MARKDOWN = "markdown"
    BIBTEX = "bibtex"
    SVG = "svg"


def export(
    report_dir: opt.ReportArgument,
    table_format: Annotated[
        Format,
        typer.Option(
            "--format",
            help="csv, json or parquet: tables; markdown: every verdict, for a job's summary; "
            "bibtex: a citation; svg: a badge.",
        ),
    ] = Format.CSV,
    table: Annotated[
        list[str] | None,
        typer.Option(help=f"Table to write, of {', '.join(TABLES)}; repeatable; else all."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write: a directory for tables, else RUN_tables, here; a file for "
            "all else, or standard output.",
            show_default=False,
        ),
    ] = None,
    key: opt.KeyOption = None,
    project: opt.ProjectOption = None,
) -> None:
    """Write a report as tables, a summary, a citation or a badge.

    Its signature and every byte are checked; ./assay verify judges it again.
    """
    if table_format in (Format.MARKDOWN, Format.BIBTEX, Format.SVG):
        if table:
            raise BadInput(f"--table goes with tables, not with --format {table_format.value}")
        if out is not None:
            require_file_place(out)
            if not out.absolute().parent.is_dir():
                raise BadInput(f"--out {out}: name a file in a folder that is there")
        text = _text(signed_report(report_dir, key, project), table_format)
        if out is None:
            sys.stdout.write(text)
        else:
            write_bytes(out, text.encode())
            say(f"{table_format.value}: {out}")
        return
    names = table or list(TABLES)
    if unknown := [name for name in names if name not in TABLES]:
        raise BadInput(f"there is no table '{unknown[0]}'; known: {', '.join(TABLES)}")
    if table_format is Format.PARQUET and importlib.util.find_spec("pyarrow") is None:
        raise MissingEnvironment(
            "Parquet is written with pyarrow, which this Python has not: start ./assay without "
            "ASSAY_NO_VENV, which installs it from requirements/parquet.txt, or pip install pyarrow"
        )
    if out is not None:
        require_folder_place(out, out / ABOUT)
    _write_tables(signed_report(report_dir, key, project), table_format, names, out)


def signed_report(path: Path, keys: Sequence[Path] | None, project: Path | None) -> OpenReport:
    """Return a report whose files are as a trusted key signed it. A project's keys, of the folder
    ``project`` or of this one, count for projects' reports alone. Raises AssayError.
    """
    opt.require_report(path)
    own = opt.project_folder(project)
    with opened_report(path) as folder:
        whose = own if project_of(folder / "evidence") else None
        report = replace(open_report(folder, keys or opt.keys_of(whose)), path=path)
    signer = report.signed.signer
    checked = "every file is as it was signed; nothing was judged again (./assay verify does)"
    progress(f"{report_name(path)}: signed by {signer.name} ({signer.keyid[:SHORT]}): {checked}")
    return report


def _text(report: OpenReport, wanted: Format) -> str:
    if wanted is Format.BIBTEX:
        return report_bibtex(report)
    contents, digest = report.contents, report.manifest_sha256
    figures = figures_of_contents(contents, created=report.created, manifest_sha256=digest)
    if wanted is Format.SVG:
        return badge(figures.counts)
    return markdown_summary(figures, contents.catalog.targets)


def report_bibtex(report: OpenReport) -> str:
    """Return a report's BibTeX entry: by our authors where our key signed, else by the signer."""
    signer, stated = report.signed.signer, report.contents.pipeline.signing_key
    own = stated.name if stated and stated.keyid == signer.keyid else None
    authors = [own or signer.name]
    if signer.keyid in {key.keyid for key in load_trusted_keys(trusted_keys(checkout.ROOT))}:
        told = parse_yaml(read_text(checkout.ROOT / CITATION))["authors"]
        authors = [author["name"] for author in told]
    return bibtex(report, authors, __version__)


def _write_tables(report: OpenReport, form: Format, names: Sequence[str], out: Path | None) -> None:
    """Write the tables, once all of them are made."""
    folder = out or Path(f"{report.run}_tables")
    require_folder_place(folder, folder / ABOUT)
    frames = {name: getattr(report, name) for name in names}
    made = {f"{name}.{form.value}": table_bytes(frame, form) for name, frame in frames.items()}
    for file, data in {**made, ABOUT: about(report)}.items():
        write_bytes(folder / file, data)
    for file, frame in zip(made, frames.values(), strict=True):
        say(f"{folder / file}: {counted(len(frame), 'row')}")
    say(f"{folder / ABOUT}: columns and their units, and which report this is")


def table_bytes(frame: pd.DataFrame, wanted: Format) -> bytes:
    """Return a frame as a file: equal frames, equal bytes, floats that read back as they were.
    Missing is nothing in CSV, null in JSON (a list of rows). What is unseen in a text is spelled
    out; one that a spreadsheet would compute has an apostrophe before it in CSV.
    """
    if wanted is Format.CSV:
        return _csv_frame(frame).to_csv(index=False, lineterminator="\n").encode()
    if wanted is Format.JSON:
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        lines = (escaped_json(json.dumps(row, ensure_ascii=False)) for row in rows)
        return ("[\n" + ",\n".join(lines) + "\n]\n").encode()
    stream = io.BytesIO()
    frame.to_parquet(stream, engine="pyarrow", index=False, compression="zstd")
    return stream.getvalue()


def _csv_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts are safe to open in a terminal and in a spreadsheet."""
    columns = {
        name: values
        if pd.api.types.is_numeric_dtype(values.dtype)
        else values.astype(object).map({each: _csv_cell(each) for each in values.unique()})
        for name, values in frame.items()
    }
    return pd.DataFrame(columns, columns=frame.columns)


def _csv_cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    return f"'{shown(value)}" if value.startswith(COMPUTED) else shown(value)


def about(report: OpenReport) -> bytes:
    """Return a JSON document of what the tables are of, and what each column holds."""
    document = {
        "schema": "assay/tables/1",
        "run": report.run,
        "commit": report.commit,
        "created": report.created,
        "signed_by": report.keyid,
        "judged_again": False,  # ./assay verify does
        "manifest_sha256": report.manifest_sha256,
        "tables": {
            name: [{"column": c.name, "dtype": c.dtype, "holds": c.says} for c in columns]
            for name, columns in TABLES.items()
        },
    }
    return f"{shown_json(document)}\n".encode()
