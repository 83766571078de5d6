"""The verdicts of a report as its signer states them, read without judging anything again."""

from collections.abc import Sequence
from pathlib import Path

from assay.base.errors import CheckFailed
from assay.base.io import parse_record
from assay.records.manifest import ATTESTATION, MANIFEST, VERDICTS
from assay.records.verdicts import VerdictsFile
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_DOCUMENT, MOST_ENVELOPE, MOST_FILE
from assay.verification.manifest import plain_bytes
from assay.verification.report_archive import is_archive, read_archive
from assay.verification.signed_files import list_signed_by
from assay.verification.trusted_keys import TrustedKey


def signed_verdicts(report: Path, keys: Sequence[TrustedKey]) -> tuple[TrustedKey, VerdictsFile]:
    """Return the verdicts of a report, and the key of ``keys`` that signed them. Raises AssayError
    where none did.
    """
    envelope, manifest, verdicts = _files(report)
    signed = list_signed_by(envelope, manifest, keys, report / MANIFEST)
    listed = {entry.path: entry.sha256 for entry in signed.manifest.files}
    if listed.get(VERDICTS) != sha256_bytes(verdicts):
        raise CheckFailed(f"{report}: {VERDICTS} is not what was signed", code="contents")
    return signed.signers[0], parse_record(VerdictsFile, verdicts, report / VERDICTS)


def _files(report: Path) -> tuple[bytes, bytes, bytes]:
    """Return envelope, manifest and verdicts. Raises AssayError."""
    if is_archive(report):
        files = read_archive(report)
        return files.get(ATTESTATION, b""), files.get(MANIFEST, b""), files.get(VERDICTS, b"")
    return (
        plain_bytes(report, ATTESTATION, MOST_ENVELOPE),
        plain_bytes(report, MANIFEST, MOST_DOCUMENT),
        plain_bytes(report, VERDICTS, MOST_FILE),
    )
