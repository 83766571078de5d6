"""The verdicts of a report, wherever it lies."""

from pathlib import Path

from assay.base.io import read_record
from assay.judging.causes import with_known_causes
from assay.records.manifest import VERDICTS
from assay.records.verdicts import VerdictsFile
from assay.verification.report_archive import opened_report


def verdicts_of(report: Path) -> VerdictsFile:
    """Return the verdicts of a report directory or its archive, of which nothing is verified, each
    with the cause that is known of its figure.
    """
    with opened_report(report) as folder:
        given = read_record(VerdictsFile, folder / VERDICTS)
    return given.model_copy(update={"verdicts": with_known_causes(given.verdicts)})
