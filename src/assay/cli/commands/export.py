"""``./assay export``: a signed report's records as tables, its citation, or its badge."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.writable import require_file_place, require_folder_place
from assay.cli.cited_report import report_bibtex
from assay.cli.console import say
from assay.cli.options import KeyOption, ReportArgument
from assay.cli.signed_report import VerifyOption, signed_report
from assay.cli.table_files import Format, about, require_writer, table_bytes
from assay.findings.headline import headline_counts
from assay.frames import TABLES
from assay.report.quoted_report import badge
from assay.shared.counting import counted
from assay.shared.files import write_bytes
from assay.verification.open_report import OpenReport


def export(
    report_dir: ReportArgument,
    table_format: Annotated[
        Format,
        typer.Option(
            "--format", help="csv, json or parquet: tables; bibtex: a citation; svg: a badge."
        ),
    ] = Format.CSV,
    table: Annotated[
        list[str] | None,
        typer.Option(help=f"Table to write, of {', '.join(TABLES)}; repeatable; else all."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write: a directory for tables, else RUN_tables, here; a file for a "
            "citation or a badge, else standard output.",
            show_default=False,
        ),
    ] = None,
    key: KeyOption = None,
    verify: VerifyOption = False,
) -> None:
    """Write a report as tables, a citation or a badge.

    Its signature and every byte are checked; with --verify it is judged again first.
    """
    if table_format.is_text:
        if table:
            raise BadInput(f"--table goes with tables, not with --format {table_format.value}")
        if out is not None:
            require_file_place(out)
            if not out.absolute().parent.is_dir():
                raise BadInput(f"--out {out}: name a file in a folder that is there")
        _write_text(signed_report(report_dir, key, whole=verify), table_format, out)
        return
    names = table or list(TABLES)
    if unknown := [name for name in names if name not in TABLES]:
        raise BadInput(f"there is no table '{unknown[0]}'; known: {', '.join(TABLES)}")
    require_writer(table_format)
    if out is not None:
        _require_tables_place(out)
    _write_tables(signed_report(report_dir, key, whole=verify), table_format, names, out)


def _require_tables_place(folder: Path) -> None:
    require_folder_place(folder, folder / "about.json")


def _write_text(report: OpenReport, wanted: Format, out: Path | None) -> None:
    if wanted is Format.BIBTEX:
        text = report_bibtex(report)
    else:
        contents = report.contents
        text = badge(headline_counts(contents.catalog, contents.verdicts.verdicts))
    if out is None:
        sys.stdout.write(text)
    else:
        write_bytes(out, text.encode())
        say(f"{wanted.value}: {out}")


def _write_tables(
    report: OpenReport, wanted: Format, names: Sequence[str], out: Path | None
) -> None:
    folder = out or Path(f"{report.run}_tables")
    _require_tables_place(folder)
    written = []  # said when all is written: a reader who goes after a line keeps none away
    for name in dict.fromkeys(names):
        frame = getattr(report, name)
        path = folder / f"{name}.{wanted.value}"
        write_bytes(path, table_bytes(frame, wanted))
        written.append(f"{path}: {counted(len(frame), 'row')}")
    write_bytes(folder / "about.json", about(report))
    for line in written:
        say(line)
    say(f"{folder / 'about.json'}: columns and their units, and which report this is")
