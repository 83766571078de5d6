"""The check that a report's time stamp is of one of its signatures, and of the time it states."""

from datetime import datetime, timedelta
from pathlib import Path

from assay.base.check_log import CheckLog
from assay.base.errors import CheckFailed
from assay.base.printable import shown_line
from assay.records.manifest import ATTESTATION, TIME_STAMP
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_ENVELOPE
from assay.verification.envelope import parse_envelope
from assay.verification.manifest import plain_bytes
from assay.verification.signatures import made_by
from assay.verification.signed_files import SignedFiles
from assay.verification.time_stamp import MOST_TIME_STAMP, check_time_stamp, read_time_stamp

UNOPENED = f"when it was signed: {TIME_STAMP} is there, and --timestamp-ca was not given"
CLOCKS_APART = timedelta(minutes=5)
"""By which the clock of whoever signed may be ahead of the service's."""


def check_time(
    log: CheckLog, report_dir: Path, signed: SignedFiles, authorities: Path | None
) -> None:
    """Hold the time stamp against a trusted key's signature.

    ``authorities``: certificates that the verifier trusts for it; without them it is not opened.
    Where there is neither a stamp, there is no check.
    """
    if authorities is None and not (report_dir / TIME_STAMP).exists():
        return
    with log.check("timestamp") as says:
        if authorities is None:
            says("")
            says.leave([UNOPENED])
            return
        answer = plain_bytes(report_dir, TIME_STAMP, MOST_TIME_STAMP)
        signature, name = _stamped(report_dir, signed, answer)
        stamp = check_time_stamp(answer, signature, authorities)
        created = signed.statement.predicate.created
        if datetime.fromisoformat(created) > stamp.time + CLOCKS_APART:
            problem = f"stamped at {stamp.told}, and the statement says that it was made {created}"
            raise CheckFailed(problem, code="timestamp-created")
        by = f"by {stamp.told}, as {shown_line(stamp.authority)} says"
        says(f"{name} had signed {by}", short=f"signed {by}")


def _stamped(report_dir: Path, signed: SignedFiles, answer: bytes) -> tuple[bytes, str]:
    """Return the signature that a stamp is of, and whose: a trusted key's. Raises CheckFailed."""
    imprint = read_time_stamp(answer).imprint
    envelope = parse_envelope(plain_bytes(report_dir, ATTESTATION, MOST_ENVELOPE))
    for signature in envelope.signatures:
        if sha256_bytes(signature.value) == imprint:
            for key in signed.signers:
                if made_by(signature, envelope.pae(), key):
                    return signature.value, f"{key.keyid} ({key.name})"
    problem = f"{TIME_STAMP} is of none of the signatures of trusted keys"
    raise CheckFailed(problem, code="timestamp-imprint")
