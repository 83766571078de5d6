"""Reports as commands take them: opened, and checked to be what a trusted key signed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from assay.verification.open_report import OpenReport, open_report

ReportArgument = Annotated[
    Path, typer.Argument(help="Report directory, or its archive.", metavar="REPORT_DIR")
]
KeyOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="Public key to trust, repeatable: one of them must have signed; else those of "
        "config/trusted_keys."
    ),
]


def signed_report(path: Path, keys: Sequence[Path] | None) -> OpenReport:
    """Return a report whose files are what a trusted key signed. Raises AssayError."""
    return open_report(path, keys or None)
