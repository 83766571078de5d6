"""DSSE envelopes in the one form that Assay writes: one signature, one spelling.

The protocol signs the payload and its type, not the JSON around them: one envelope has any number
of spellings. Exactly one is read: a changed byte is found where it means nothing.
"""

import base64
import json
from collections.abc import Sequence

from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import UnverifiedSignatureError
from securesystemslib.signer import CryptoSigner, Signature

from assay.base.errors import CheckFailed
from assay.shared.bounded_json import parse_bounded
from assay.shared.read_limits import Unreadable
from assay.verification.trusted_keys import TrustedKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"


def seal(payload: bytes, signer: CryptoSigner) -> bytes:
    """Return the signed envelope of an in-toto statement, in canonical form."""
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return dump_envelope(envelope)


def dump_envelope(envelope: Envelope) -> bytes:
    """Return the canonical form: JSON of two spaces, members in order."""
    return (json.dumps(envelope.to_dict(), indent=2, sort_keys=True) + "\n").encode()


def parse_envelope(data: bytes) -> Envelope:
    """Return the envelope that the bytes are the canonical form of.

    Raises CheckFailed else, with the code ``envelope`` for what is no DSSE envelope of one
    signature, that of the JSON reader, or ``envelope-form`` for another spelling.
    """
    try:
        document = parse_bounded(data)
        (given,) = document["signatures"]
        signature = base64.b64decode(given["sig"], validate=True).hex()
        envelope = Envelope(
            base64.b64decode(document["payload"], validate=True),
            document["payloadType"],
            {given["keyid"]: Signature(given["keyid"], signature)},
        )
        canonical = dump_envelope(envelope)
    except Unreadable as error:
        raise CheckFailed(f"the envelope is malformed: it {error}", code=error.code) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = "the envelope is malformed: it is no DSSE JSON document with one signature"
        raise CheckFailed(problem, code="envelope") from error
    if data != canonical:
        problem = "the envelope is not as Assay writes it: bytes were changed"
        raise CheckFailed(problem, code="envelope-form")
    return envelope


def check_signature(envelope: Envelope, trusted: Sequence[TrustedKey]) -> TrustedKey:
    """Return the trusted key that signed.

    Raises CheckFailed for another type of payload, for a stranger's signature, for one under a
    trusted key's id that it did not make, and for a revoked key's.
    """
    if envelope.payload_type != PAYLOAD_TYPE:
        raise CheckFailed(f"the payload type is {envelope.payload_type!r}", code="payload-type")
    ((keyid, signature),) = envelope.signatures.items()
    signer = next((key for key in trusted if key.keyid == keyid), None)
    if signer is None:
        remedy = "name each key that you trust with --key PUBLIC_KEY"
        problem = f"signed by key {keyid}, which is not trusted; {remedy}"
        raise CheckFailed(problem, code="signature-untrusted")
    try:
        signer.key.verify_signature(signature, envelope.pae())
    except UnverifiedSignatureError as error:
        problem = f"the signature does not fit: key {keyid} did not sign these bytes"
        raise CheckFailed(problem, code="signature-invalid") from error
    if signer.revoked is not None:
        when = f"revoked on {signer.revoked.day}: {signer.revoked.reason}"
        problem = f"signed by key '{signer.name}' ({keyid}), which was {when}"
        raise CheckFailed(problem, code="key-revoked")
    return signer
