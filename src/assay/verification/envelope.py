"""DSSE envelopes in the one form that Assay writes: JSON of two spaces, members in order.

The protocol signs the payload and its type, not the JSON around them: one envelope has any number
of spellings. Exactly one is read: a changed byte is found where it means nothing.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from securesystemslib.signer import CryptoSigner

from assay.base.errors import CheckFailed
from assay.shared.bounded_json import parse_bounded
from assay.shared.read_limits import Unreadable

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MOST_SIGNATURES = 16
"""Of one envelope: each is tried with every trusted key that may have made it."""


@dataclass(frozen=True)
class EnvelopeSignature:
    """One signature; its key id is a hint that nothing vouches for."""

    keyid: str | None
    """None where the envelope has no such member; empty means the same."""
    value: bytes


@dataclass(frozen=True)
class Envelope:
    """A payload with its type, and the signatures over both."""

    payload: bytes
    payload_type: str
    signatures: tuple[EnvelopeSignature, ...]

    def pae(self) -> bytes:
        """Return the bytes that are signed: DSSE's pre-authentication encoding."""
        kind = self.payload_type.encode()
        return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(self.payload), self.payload)


def signed_envelope(payload: bytes, signers: Sequence[CryptoSigner]) -> Envelope:
    """Return the envelope of an in-toto statement, with the signatures of all ``signers``."""
    unsigned = Envelope(payload, PAYLOAD_TYPE, ())
    made = []
    for signer in signers:
        signature = signer.sign(unsigned.pae())
        made.append(EnvelopeSignature(signature.keyid, bytes.fromhex(signature.signature)))
    return Envelope(payload, PAYLOAD_TYPE, _ordered(made))


def dump_envelope(envelope: Envelope) -> bytes:
    """Return the canonical form: the only bytes of this envelope that are read."""
    document = {
        "payload": _base64(envelope.payload),
        "payloadType": envelope.payload_type,
        "signatures": [_entry(signature) for signature in _ordered(envelope.signatures)],
    }
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()


def parse_envelope(data: bytes) -> Envelope:
    """Return the envelope that the bytes are the canonical form of. Raises CheckFailed else.

    Codes: ``envelope`` for what is no DSSE envelope, that of the reader where no parser is given
    it, ``envelope-form`` for another spelling of one.
    """
    try:
        document = parse_bounded(data)
        envelope = Envelope(
            _unbase64(document["payload"]),
            document["payloadType"],
            tuple(_signature(entry) for entry in document["signatures"]),
        )
        if not isinstance(envelope.payload_type, str):
            raise TypeError("a payload's type is a text")
        canonical = dump_envelope(envelope)
    except Unreadable as error:
        raise CheckFailed(f"the envelope is malformed: it {error}", code=error.code) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        problem = "the envelope is malformed: it is no DSSE JSON document"
        raise CheckFailed(problem, code="envelope") from error
    if data != canonical:
        problem = "the envelope is not spelled as Assay writes it: bytes were changed"
        raise CheckFailed(problem, code="envelope-form")
    if len(envelope.signatures) > MOST_SIGNATURES:
        problem = f"the envelope carries more than {MOST_SIGNATURES} signatures"
        raise CheckFailed(problem, code="envelope-signatures")
    if len({signature.value for signature in envelope.signatures}) < len(envelope.signatures):
        raise CheckFailed("the envelope carries one signature twice", code="envelope-form")
    return envelope


def _ordered(signatures: Sequence[EnvelopeSignature]) -> tuple[EnvelopeSignature, ...]:
    return tuple(sorted(signatures, key=lambda each: (each.keyid or "", each.value)))


def _entry(signature: EnvelopeSignature) -> dict[str, str]:
    hint = {} if signature.keyid is None else {"keyid": signature.keyid}
    return {**hint, "sig": _base64(signature.value)}


def _signature(entry: dict[str, Any]) -> EnvelopeSignature:
    keyid = entry.get("keyid")
    if not isinstance(keyid, str | None):
        raise TypeError("a key id is a text")
    return EnvelopeSignature(keyid, _unbase64(entry["sig"]))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _unbase64(text: str) -> bytes:
    """Return the bytes. Padding beyond need is another spelling, in whatever version of Python."""
    bare = text.rstrip("=")
    padding = min(len(text) - len(bare), -len(bare) % 4)
    return base64.b64decode(bare + "=" * padding, validate=True)
