"""DSSE envelopes in the one form that Assay writes, and whose signatures they carry.

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
from assay.base.printable import shortened
from assay.shared.bounded_json import parse_bounded
from assay.shared.read_limits import Unreadable
from assay.verification.trusted_keys import TrustedKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MOST_SIGNATURES = 16
"""Of one envelope."""
LONGEST_ID = 100
"""Characters that a sentence quotes of what an envelope may call a key: ids have 64."""


def seal(payload: bytes, *signers: CryptoSigner) -> bytes:
    """Return the envelope of an in-toto statement with everybody's signature, in canonical form."""
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    for signer in signers:
        envelope.sign(signer)
    return dump_envelope(envelope)


def dump_envelope(envelope: Envelope) -> bytes:
    """Return the canonical form: JSON of two spaces, members and key ids in order."""
    document = {
        "payload": base64.b64encode(envelope.payload).decode(),
        "payloadType": envelope.payload_type,
        "signatures": [
            {"keyid": keyid, "sig": base64.b64encode(bytes.fromhex(each.signature)).decode()}
            for keyid, each in sorted(envelope.signatures.items())
        ],
    }
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()


def parse_envelope(data: bytes) -> Envelope:
    """Return the envelope that the bytes are the canonical form of.

    Raises CheckFailed else, with the code ``envelope`` for what is no DSSE envelope, that of the
    JSON reader, or ``envelope-form`` for another spelling.
    """
    try:
        document = parse_bounded(data)
        signatures = [
            Signature(each["keyid"], base64.b64decode(each["sig"], validate=True).hex())
            for each in document["signatures"]
        ]
        envelope = Envelope(
            base64.b64decode(document["payload"], validate=True),
            document["payloadType"],
            {each.keyid: each for each in signatures},
        )
        canonical = dump_envelope(envelope)
    except Unreadable as error:
        raise CheckFailed(f"the envelope is malformed: it {error}", code=error.code) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = "the envelope is malformed: it is no DSSE JSON document"
        raise CheckFailed(problem, code="envelope") from error
    if data != canonical or len(signatures) > MOST_SIGNATURES:
        problem = "the envelope is not as Assay writes it: bytes were changed"
        raise CheckFailed(problem, code="envelope-form")
    return envelope


def check_signatures(envelope: Envelope, trusted: Sequence[TrustedKey]) -> tuple[TrustedKey, ...]:
    """Return the trusted keys that signed, each once; what others sign is passed over.

    Raises CheckFailed for another type of payload, for a signature under a trusted key's id that
    it did not make, for a revoked key's, for none.
    """
    if envelope.payload_type != PAYLOAD_TYPE:
        kind = shortened(str(envelope.payload_type), LONGEST_ID)
        raise CheckFailed(f"the payload type is {kind!r}", code="payload-type")
    signers = {each.keyid: each for each in trusted if each.keyid in envelope.signatures}
    if not signers:
        raise CheckFailed(_stranger(envelope, trusted), code="signature-untrusted")
    for keyid, signer in signers.items():
        try:
            signer.key.verify_signature(envelope.signatures[keyid], envelope.pae())
        except UnverifiedSignatureError as error:
            problem = f"the signature does not fit: key {keyid} did not sign these bytes"
            raise CheckFailed(problem, code="signature-invalid") from error
        if signer.revoked is not None:
            problem = (
                f"signed by key '{signer.name}' ({keyid}), which was revoked on "
                f"{signer.revoked.day}: {signer.revoked.reason}"
            )
            raise CheckFailed(problem, code="key-revoked")
    return tuple(signers.values())


def _stranger(envelope: Envelope, trusted: Sequence[TrustedKey]) -> str:
    known = ", ".join(sorted(f"'{key.name}'" for key in trusted)) or "none"
    ids = ", ".join(shortened(str(keyid), LONGEST_ID) for keyid in envelope.signatures)
    if not ids:
        return "the envelope carries no signature"
    return f"signed by key {ids}, which is not trusted (trusted: {known})"
