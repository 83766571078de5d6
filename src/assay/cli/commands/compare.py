"""``./assay compare``: show the verdicts of several reports side by side."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.cli import console
from assay.cli.report_verdicts import verdicts_of
from assay.verification.report_archive import opened_report, report_name


def compare(
    report_dirs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Two or more report directories, or their archives.",
            metavar="REPORT_DIR REPORT_DIR",
        ),
    ] = None,
) -> None:
    """Show the verdicts of several reports side by side."""
    folders = report_dirs or []
    if len(folders) < 2:
        raise BadInput(f"compare needs two or more report directories, not {len(folders)}")
    with ExitStack() as stack:
        opened = [stack.enter_context(opened_report(folder)) for folder in folders]
        files = list(map(verdicts_of, opened))
    console.show_side_by_side([report_name(folder) for folder in folders], files)
