"""A further signature on a signed report: the same statements, under one more key."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from securesystemslib.signer import CryptoSigner

from assay.base.errors import BadInput, CheckFailed, MissingEnvironment
from assay.base.writable import why_not_writable
from assay.records.manifest import ATTESTATION, PROVENANCE, TIME_STAMP
from assay.shared.files import sha256_bytes, write_bytes
from assay.shared.read_limits import MOST_ENVELOPE
from assay.verification.attestation import parse_statement
from assay.verification.envelope import (
    MOST_SIGNATURES,
    Envelope,
    dump_envelope,
    parse_envelope,
    signed_envelope,
)
from assay.verification.manifest import plain_bytes
from assay.verification.report_archive import is_archive
from assay.verification.signatures import check_signatures, made_by
from assay.verification.time_service import TimeService
from assay.verification.time_stamp import MOST_TIME_STAMP, check_time_stamp, read_time_stamp
from assay.verification.trusted_keys import TrustedKey


@dataclass(frozen=True)
class SignedEnvelopes:
    """The envelopes of a report, as they were before somebody looked at the rest of it."""

    attestation: bytes
    provenance: bytes | None
    """None where the report has none."""


def open_to_signature(
    report_dir: Path,
    signer: CryptoSigner,
    keys: Sequence[TrustedKey],
    service: TimeService | None = None,
) -> SignedEnvelopes:
    """Return the envelopes that a key is to sign; verifying the report is the caller's next step.

    ``keys``: those by which it will be verified; ``service``: whose time stamp is to be added, too.
    Raises BadInput for an archive and for a
    key with nothing left to do, CheckFailed for envelopes that are none, MissingEnvironment for a
    folder that nothing can be written to.
    """
    if is_archive(report_dir):
        raise BadInput(
            f"{report_dir}: is an archive, and stays as it was packed: sign the directory that it "
            "was packed from, then pack that",
            code="archive-signed",
        )
    if not report_dir.is_dir():
        raise BadInput(f"{report_dir}: no such report directory")
    found = _envelopes(report_dir)
    envelope = parse_envelope(found.attestation)
    if _signature_of(signer, envelope) is not None:
        if service is None or _is_stamped(report_dir, envelope, service, signer, keys):
            problem = f"{report_dir}: key {signer.public_key.keyid} has signed it already"
            raise BadInput(problem, code="signature-there")
    elif len(envelope.signatures) >= MOST_SIGNATURES:
        problem = f"{report_dir}: carries {MOST_SIGNATURES} signatures, the most that are read"
        raise BadInput(problem, code="envelope-signatures")
    if why := why_not_writable(report_dir / ATTESTATION):
        raise MissingEnvironment(f"{report_dir}: cannot be signed: {why}")
    return found


def add_signature(
    report_dir: Path,
    signer: CryptoSigner,
    verified: SignedEnvelopes,
    keys: Sequence[TrustedKey],
    service: TimeService | None = None,
) -> int:
    """Sign the statements that ``verified`` holds, too; return how many signatures there are now.

    ``keys``: those by which the report was verified; what they would then refuse is not written.
    ``service`` stamps the new signature where the report has no time stamp that it vouches for, of
    a signature of ``keys`` or of the new one. Each file is written
    whole, the attestation behind the provenance: in between, the report verifies as it did before.
    Raises CheckFailed, MissingEnvironment.
    """
    if _envelopes(report_dir) != verified:
        problem = f"{report_dir}: was changed while it was verified"
        raise CheckFailed(problem, code="changed-meanwhile")
    attestation = _with_signature(verified.attestation, signer)
    created = parse_statement(attestation).predicate.created
    for key in check_signatures(attestation, keys):
        key.check_signed_on(created)
    mine = _signature_of(signer, attestation)
    assert mine is not None
    stamped = service is not None and _is_stamped(report_dir, attestation, service, signer, keys)
    stamp = service.stamp(mine) if service is not None and not stamped else None
    if verified.provenance is not None:
        provenance = _with_signature(verified.provenance, signer)
        write_bytes(report_dir / PROVENANCE, dump_envelope(provenance))
    write_bytes(report_dir / ATTESTATION, dump_envelope(attestation))
    if stamp is not None:
        write_bytes(report_dir / TIME_STAMP, stamp)
    return len(attestation.signatures)


def _is_stamped(
    report_dir: Path,
    envelope: Envelope,
    service: TimeService,
    signer: CryptoSigner,
    keys: Sequence[TrustedKey],
) -> bool:
    """Return whether there is a time stamp of a signature of ``keys``, or of the signer's, that the
    service's certificates vouch for; one that anybody left there need not be.
    """
    known = (*keys, TrustedKey(signer.public_key, "the signer's"))
    try:
        answer = plain_bytes(report_dir, TIME_STAMP, MOST_TIME_STAMP)
        imprint = read_time_stamp(answer).imprint
        for each in envelope.signatures:
            of_known = any(made_by(each, envelope.pae(), key) for key in known)
            if of_known and sha256_bytes(each.value) == imprint:
                check_time_stamp(answer, each.value, service.authorities)
                return True
    except CheckFailed:
        return False
    return False


def _envelopes(report_dir: Path) -> SignedEnvelopes:
    there = (report_dir / PROVENANCE).exists()
    return SignedEnvelopes(
        plain_bytes(report_dir, ATTESTATION, MOST_ENVELOPE),
        plain_bytes(report_dir, PROVENANCE, MOST_ENVELOPE) if there else None,
    )


def _signature_of(signer: CryptoSigner, envelope: Envelope) -> bytes | None:
    """Return the signature that a key made; ids are hints, and decide nothing."""
    key = TrustedKey(signer.public_key, "the signer's")
    made = (each.value for each in envelope.signatures if made_by(each, envelope.pae(), key))
    return next(made, None)


def _with_signature(data: bytes, signer: CryptoSigner) -> Envelope:
    """Return an envelope with a key's signature, which is the same bytes each time."""
    envelope = parse_envelope(data)
    if _signature_of(signer, envelope) is not None:
        return envelope
    return signed_envelope(envelope.payload, [signer], envelope.signatures)
