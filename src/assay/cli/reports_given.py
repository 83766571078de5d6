"""Reports as commands take them: opened, and checked to be what a trusted key signed."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from assay.judging.counts import Tally, count_verdicts
from assay.records.verdicts import Status
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


def published_tally(report: OpenReport) -> Tally:
    """Return what came of the published speed figures: by what they would be, where they were
    measured on other hardware alone.
    """
    counts = count_verdicts(report.contents.catalog, report.contents.verdicts.verdicts)
    both = Counter(counts.published) + Counter(counts.elsewhere)
    return {status: both[status] for status in Status if both[status]}
