"""The verdicts of a report, wherever it lies, and whether anybody vouches for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.check_log import CheckLog
from assay.base.io import read_record
from assay.records.manifest import VERDICTS
from assay.records.verdicts import VerdictsFile
from assay.verification.report_archive import opened_report, report_name
from assay.verification.signed_files import check_signed_files
from assay.verification.trusted_keys import load_trusted_keys


@dataclass(frozen=True)
class VouchedVerdicts:
    """The verdicts that a report gives, and the key that signed its files."""

    name: str
    file: VerdictsFile
    keyid: str | None
    """None where no trusted key vouches for the files as they are."""
    note: str
    """One line: who vouches, or what is wrong."""


def verdicts_of(report: Path) -> VerdictsFile:
    """Return the verdicts of a report directory or its archive, of which nothing is verified."""
    with opened_report(report) as folder:
        return read_record(VerdictsFile, folder / VERDICTS)


def vouched_verdicts(
    report: Path, keys: Sequence[Path], threshold: int = 1, beside: Sequence[Path] = ()
) -> VouchedVerdicts:
    """Return the verdicts of a report with what its signature says of them.

    The files are held against the signature. Neither are they judged again, nor is it asked whose
    rules they were judged by: verifying does both, and the note says so. What notes say of the keys
    ``beside`` counts for the same keys here. Raises BadInput where there are no verdicts that can
    be read.
    """
    name, log = report_name(report), CheckLog()
    with opened_report(report) as folder:
        trusted = load_trusted_keys(keys, beside)
        signed = check_signed_files(log, folder, trusted, threshold=threshold)
        file = read_record(VerdictsFile, folder / VERDICTS)
    if signed is None:
        why = next(check for check in log.checks if not check.passed)
        return VouchedVerdicts(name, file, None, f"{name}: unverified: {why.name}: {why.detail}")
    if signed.manifest.run != name:
        name = f"{name} (run {signed.manifest.run})"
    note = (
        f"{name}: as trusted key {signed.keyid} signed it, by rules {file.rules}; ./assay verify "
        "judges it again, and says by whose margins it was judged"
    )
    return VouchedVerdicts(name, file, signed.keyid, note)
