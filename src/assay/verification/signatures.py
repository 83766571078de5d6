"""Whose signatures an envelope carries: DSSE's verification, against the keys that are trusted."""

from collections.abc import Sequence

from securesystemslib.exceptions import UnverifiedSignatureError
from securesystemslib.signer import Signature

from assay.base.errors import CheckFailed
from assay.base.printable import shortened
from assay.verification.envelope import PAYLOAD_TYPE, Envelope, EnvelopeSignature
from assay.verification.trusted_keys import TrustedKey

SIGNATURE_BYTES = 64
LONGEST_ID = 100
"""Characters that a sentence quotes of what an envelope may call a key: ids have 64."""


def check_signatures(envelope: Envelope, trusted: Sequence[TrustedKey]) -> tuple[TrustedKey, ...]:
    """Return the trusted keys that signed, each distinct one once.

    A key id narrows down which keys are tried, and decides nothing else; without one all are. What
    keys sign that nobody trusts is passed over, as the protocol says. Raises CheckFailed for a
    signature under a trusted key's id that it did not make, for a revoked key's, for none.
    """
    if envelope.payload_type != PAYLOAD_TYPE:
        problem = f"the payload type is {_short(envelope.payload_type)!r}, not {PAYLOAD_TYPE}"
        raise CheckFailed(problem, code="payload-type")
    if not envelope.signatures:
        raise CheckFailed("the envelope carries no signature", code="signature-none")
    message = envelope.pae()
    found = [_signer(signature, message, trusted) for signature in envelope.signatures]
    signers = {key.keyid: key for key in found if key is not None}
    for key in signers.values():
        if key.revoked is not None:
            problem = (
                f"signed by key '{key.name}' ({key.keyid}), which was revoked on "
                f"{key.revoked.day}: {key.revoked.reason}"
            )
            raise CheckFailed(problem, code="key-revoked")
    if not signers:
        raise CheckFailed(_stranger(envelope, trusted), code="signature-untrusted")
    return tuple(signers.values())


def made_by(signature: EnvelopeSignature, message: bytes, key: TrustedKey) -> bool:
    """Return whether ``key`` made a signature over ``message``."""
    try:
        key.key.verify_signature(Signature(key.keyid, signature.value.hex()), message)
    except UnverifiedSignatureError:
        return False
    return True


def _signer(
    signature: EnvelopeSignature, message: bytes, trusted: Sequence[TrustedKey]
) -> TrustedKey | None:
    """Return the trusted key that made one signature; None for a stranger's."""
    hint = signature.keyid
    candidates = [key for key in trusted if hint in (None, "", key.keyid)]
    if candidates and len(signature.value) != SIGNATURE_BYTES:
        named = f"the signature of key {_short(hint)}" if hint else "the signature without a key id"
        problem = f"{named} is not {SIGNATURE_BYTES} bytes long"
        raise CheckFailed(problem, code="signature-length")
    for key in candidates:
        if made_by(signature, message, key):
            return key
    if hint and candidates:
        problem = f"the signature does not fit: key {_short(hint)} did not sign these bytes"
        raise CheckFailed(problem, code="signature-invalid")
    return None


def _stranger(envelope: Envelope, trusted: Sequence[TrustedKey]) -> str:
    known = ", ".join(sorted(f"'{key.name}'" for key in trusted)) or "none"
    hints = [_short(signature.keyid) for signature in envelope.signatures if signature.keyid]
    if not hints:
        return f"the signature without a key id is of no trusted key (trusted: {known})"
    return f"signed by key {', '.join(hints)}, which is not trusted (trusted: {known})"


def _short(text: str) -> str:
    return shortened(text, LONGEST_ID)
