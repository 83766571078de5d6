"""The verdicts of a report, wherever it lies."""

from pathlib import Path

from assay.base.io import read_record
from assay.records.manifest import VERDICTS
from assay.records.verdicts import VerdictsFile
from assay.verification.report_archive import opened_report


def verdicts_of(report: Path) -> VerdictsFile:
    """Return the verdicts of a report directory or its archive, of which nothing is verified."""
    with opened_report(report) as folder:
        return read_record(VerdictsFile, folder / VERDICTS)
