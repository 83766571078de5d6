"""Keys, statements and DSSE envelopes: what signing and verifying share."""

import base64
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
    load_ssh_private_key,
    load_ssh_public_key,
)
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import UnverifiedSignatureError
from securesystemslib.signer import CryptoSigner, Signature, SSlibKey

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import parse_record
from assay.records.attestation import Statement
from assay.shared.bounded_json import parse_bounded
from assay.shared.read_limits import MOST_KEY_FILE, Unreadable, whole_file_bytes

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_SIGNATURE = re.compile(r"[0-9a-f]{128}")


def load_signer(path: Path) -> CryptoSigner:
    """The signer of an Ed25519 private key, PEM or OpenSSH, without a passphrase.

    Raises BadInput with one sentence for anything else.
    """
    data = _key_bytes(path)
    load = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in data else load_pem_private_key
    try:
        key = load(data, None)
    except TypeError as error:
        raise BadInput(f"{path}: the key has a passphrase; give one without") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadInput(f"{path}: is not a private key in PEM or OpenSSH form") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInput(f"{path}: is not an Ed25519 key")
    return CryptoSigner(key)


def load_public_key(path: Path) -> SSlibKey:
    """An Ed25519 public key, PEM or OpenSSH. Raises BadInput with one sentence."""
    data = _key_bytes(path)
    load = load_ssh_public_key if data.startswith(b"ssh-") else load_pem_public_key
    try:
        key = load(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadInput(f"{path}: is not a public key in PEM or OpenSSH form") from error
    if not isinstance(key, Ed25519PublicKey):
        raise BadInput(f"{path}: is not an Ed25519 key")
    return SSlibKey.from_crypto(key)


def public_pem(key: SSlibKey) -> bytes:
    """The key as PEM (SubjectPublicKeyInfo), the form of ``signer.pub``."""
    raw = bytes.fromhex(key.keyval["public"])
    return Ed25519PublicKey.from_public_bytes(raw).public_bytes(
        Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
    )


def _key_bytes(path: Path) -> bytes:
    try:
        return whole_file_bytes(path, MOST_KEY_FILE)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such key file") from None
    except Unreadable as error:
        raise BadInput(f"{path}: {error}", code=error.code) from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error


def dump_statement(statement: Statement) -> bytes:
    """The statement as plain JSON: integers stay integers."""
    data = statement.model_dump(mode="json", by_alias=True)
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def seal(statement: Statement, signer: CryptoSigner) -> bytes:
    """The signed envelope around ``statement``: the bytes of ``attestation.json``."""
    envelope = Envelope(dump_statement(statement), PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return dump_envelope(envelope)


def dump_envelope(envelope: Envelope) -> bytes:
    """The way in which Assay writes an envelope."""
    data: dict[str, Any] = envelope.to_dict()
    return (json.dumps(data, indent=2, sort_keys=True) + "\n").encode()


def _compact(envelope: Envelope) -> bytes:
    """The way in which Go's DSSE library, and so cosign, writes an envelope."""
    data: dict[str, Any] = envelope.to_dict()
    document = {
        "payloadType": data["payloadType"],
        "payload": data["payload"],
        "signatures": [
            {"keyid": entry["keyid"], "sig": entry["sig"]} for entry in data["signatures"]
        ],
    }
    return json.dumps(document, separators=(",", ":")).encode()


def parse_envelope(data: bytes) -> Envelope:
    """Read ``attestation.json``, spelled as Assay or as cosign writes it.

    Raises CheckFailed for any other form: a changed byte is found even where it means nothing.
    """
    try:
        document = parse_bounded(data)
        payload = base64.b64decode(document["payload"], validate=True)
        payload_type = document["payloadType"]
        signatures = {}
        for entry in document["signatures"]:
            keyid = entry["keyid"]
            value = base64.b64decode(entry["sig"], validate=True).hex()
            signatures[keyid] = Signature(keyid, value)
        envelope = Envelope(payload, payload_type, signatures)
        spellings = (dump_envelope(envelope), _compact(envelope), _compact(envelope) + b"\n")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckFailed("the envelope is malformed: it is no DSSE JSON document") from error
    if data not in spellings:
        raise CheckFailed(
            "the envelope is spelled neither as Assay nor as cosign writes it: bytes were changed"
        )
    return envelope


def check_signatures(envelope: Envelope, trusted: Sequence[SSlibKey]) -> SSlibKey:
    """The trusted key that signed. Every signature must be one of a trusted key.

    A key id is a hint, and cosign leaves it empty: then any trusted key may fit. Raises CheckFailed
    with a sentence that names the key ids involved.
    """
    if envelope.payload_type != PAYLOAD_TYPE:
        raise CheckFailed(f"the payload type is {envelope.payload_type!r}, not {PAYLOAD_TYPE}")
    if not envelope.signatures:
        raise CheckFailed("the envelope carries no signature")
    signers = [
        _signer(keyid, signature, envelope.pae(), trusted)
        for keyid, signature in envelope.signatures.items()
    ]
    return signers[0]


def _signer(
    keyid: str, signature: Signature, message: bytes, trusted: Sequence[SSlibKey]
) -> SSlibKey:
    """The trusted key that made one signature."""
    candidates = [key for key in trusted if keyid in ("", key.keyid)]
    known = ", ".join(sorted(key.keyid for key in trusted)) or "none"
    if not candidates:
        raise CheckFailed(f"signed by key {keyid}, which is not trusted (trusted: {known})")
    named = f"the signature of key {keyid}" if keyid else "the signature without a key id"
    if not _SIGNATURE.fullmatch(signature.signature):
        raise CheckFailed(f"{named} is not 64 bytes long")
    for key in candidates:
        try:
            key.verify_signature(Signature(key.keyid, signature.signature), message)
        except UnverifiedSignatureError:
            continue
        return key
    if keyid:
        raise CheckFailed(f"the signature does not fit: key {keyid} did not sign these bytes")
    raise CheckFailed(f"{named} is of no trusted key (trusted: {known})")


def parse_statement(envelope: Envelope) -> Statement:
    """The statement inside. Raises CheckFailed when it is malformed."""
    try:
        return parse_record(Statement, envelope.payload, Path("statement"))
    except BadInput as error:
        raise CheckFailed(f"malformed {error}", code=error.code) from error
