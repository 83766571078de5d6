"""``./assay compare``: show the verdicts of several reports side by side."""

from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.cli import checkout, console
from assay.cli.report_verdicts import vouched_verdicts
from assay.verification.trusted_keys import threshold, trusted_keys


def compare(
    report_dirs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Two or more report directories, or their archives.",
            metavar="REPORT_DIR REPORT_DIR",
        ),
    ] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option(
            help="Public key to trust, repeatable: one of them must have signed; else those of "
            "config/trusted_keys."
        ),
    ] = None,
) -> None:
    """Show the verdicts of several reports side by side."""
    folders = report_dirs or []
    if len(folders) < 2:
        raise BadInput(f"compare needs two or more report directories, not {len(folders)}")
    ours = trusted_keys(checkout.ROOT)
    needed = 1 if key else threshold(checkout.ROOT)
    console.show_side_by_side(
        [vouched_verdicts(folder, key or ours, needed, ours) for folder in folders]
    )
