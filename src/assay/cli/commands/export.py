"""``./assay export``: a report's records as tables, for programs that compute."""

from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.cli.console import say
from assay.cli.options import KeyOption, ReportArgument
from assay.cli.signed_report import VerifyOption, signed_report
from assay.cli.table_files import Format, about, require_writer, table_bytes
from assay.frames import TABLES
from assay.shared.counting import counted
from assay.shared.files import write_bytes


def export(
    report_dir: ReportArgument,
    table_format: Annotated[
        Format, typer.Option("--format", help="csv, parquet or json.")
    ] = Format.CSV,
    table: Annotated[
        list[str] | None,
        typer.Option(help=f"Table to write, of {', '.join(TABLES)}; repeatable; else all."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory to write to; else RUN_tables, here.", show_default=False),
    ] = None,
    key: KeyOption = None,
    verify: VerifyOption = False,
) -> None:
    """Write a signed report's records as tables.

    Its signature and every byte are checked; with --verify it is judged again first.
    """
    names = table or list(TABLES)
    if unknown := [name for name in names if name not in TABLES]:
        raise BadInput(f"there is no table '{unknown[0]}'; known: {', '.join(TABLES)}")
    require_writer(table_format)
    report = signed_report(report_dir, key, whole=verify)
    folder = out or Path(f"{report.run}_tables")
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: is no directory")
    written = []  # told when all is written: a reader who goes after a line keeps none away
    for name in dict.fromkeys(names):
        frame = getattr(report, name)
        path = folder / f"{name}.{table_format.value}"
        write_bytes(path, table_bytes(frame, table_format))
        written.append(f"{path}: {counted(len(frame), 'row')}")
    write_bytes(folder / "about.json", about(report))
    for line in written:
        say(line)
    say(f"{folder / 'about.json'}: columns and their units, and which report this is")
