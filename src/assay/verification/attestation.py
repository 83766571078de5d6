"""Keys, statements and DSSE envelopes: what signing and verifying share."""

import json
import stat
from pathlib import Path

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
from pydantic import ValidationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import parse_record
from assay.records.attestation import Statement
from assay.shared.read_limits import MOST_KEY_FILE, Unreadable, whole_file_bytes
from assay.verification.ed25519 import public_key_problem
from assay.verification.envelope import Envelope, dump_envelope, signed_envelope

OTHERS = stat.S_IRWXG | stat.S_IRWXO
PARTS = {
    "_type": "statement-type", "predicateType": "predicate-type", "subject": "subject",
    "predicate": "predicate", "": "statement-form",
}  # fmt: skip
"""Members of a statement, with the code of one that does not fit: of several, the first. The empty
name is the statement's own."""


def load_signer(path: Path) -> CryptoSigner:
    """The signer of an Ed25519 private key, PEM or OpenSSH, without a passphrase.

    Raises BadInput with one sentence for anything else, and for a file that others may read.
    """
    data = _key_bytes(path)
    if path.stat().st_mode & OTHERS:
        problem = f"{path}: others may read this private key, or write it: chmod 600 {path}"
        raise BadInput(problem, code="key-permissions")
    _require_one_block(path, data)
    openssh = b"OPENSSH PRIVATE KEY" in data
    load = load_ssh_private_key if openssh else load_pem_private_key
    try:
        key = load(data, None)
    except TypeError as error:
        raise BadInput(_passphrase(path), code="key-passphrase") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        if openssh and "encrypted" in str(error):
            raise BadInput(_passphrase(path), code="key-passphrase") from error
        problem = f"{path}: is not a private key in PEM or OpenSSH form"
        raise BadInput(problem, code="key-form") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInput(f"{path}: is not an Ed25519 key", code="key-type")
    return CryptoSigner(key)


def load_public_key(path: Path) -> SSlibKey:
    """An Ed25519 public key: one PEM block, or one line as OpenSSH writes it.

    Raises BadInput with one sentence: also for two keys, and for one that no secret has.
    """
    return public_key(_key_bytes(path), path)


def public_key(data: bytes, path: Path) -> SSlibKey:
    """The same of the bytes of a file at ``path``."""
    openssh = data.startswith(b"ssh-")
    if not openssh and b"ssh-" in data:
        raise BadInput(f"{path}: holds more than one key", code="key-several")
    if openssh and len(data.strip().splitlines()) > 1:
        raise BadInput(f"{path}: holds more than one line, or key", code="key-several")
    if not openssh:
        _require_one_block(path, data)
    if openssh and b"-cert-" in data.split(maxsplit=1)[0]:
        problem = f"{path}: is an OpenSSH certificate; the plain key is wanted"
        raise BadInput(problem, code="key-type")
    load = load_ssh_public_key if openssh else load_pem_public_key
    try:
        key = load(data.strip())
    except (ValueError, UnsupportedAlgorithm) as error:
        problem = f"{path}: is not a public key in PEM or OpenSSH form"
        raise BadInput(problem, code="key-form") from error
    if not isinstance(key, Ed25519PublicKey):
        raise BadInput(f"{path}: is not an Ed25519 key", code="key-type")
    if weakness := public_key_problem(key.public_bytes_raw()):
        raise BadInput(f"{path}: the key {weakness}", code="key-weak")
    return SSlibKey.from_crypto(key)


def _require_one_block(path: Path, data: bytes) -> None:
    """Raise BadInput for a file of more than one PEM block, or with anything around it."""
    begins, bare = data.count(b"-----BEGIN "), data.strip()
    if begins > 1:
        raise BadInput(f"{path}: holds {begins} keys; one is wanted", code="key-several")
    if begins and not (bare.startswith(b"-----BEGIN ") and bare.endswith(b"-----")):
        raise BadInput(f"{path}: holds more than one key in PEM form", code="key-form")


def _passphrase(path: Path) -> str:
    return (
        f"{path}: the key has a passphrase; give one without "
        f"(ssh-keygen -p -N '' makes a copy of an OpenSSH key one, ./assay key new a new key)"
    )


def key_of_bytes(public: str) -> SSlibKey:
    """Return the key whose public half is these 32 bytes, in hexadecimal digits."""
    return SSlibKey.from_crypto(Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)))


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
    return seal_payload(dump_statement(statement), signer)


def seal_payload(payload: bytes, signer: CryptoSigner) -> bytes:
    """The same around any statement, as it was dumped."""
    return dump_envelope(signed_envelope(payload, [signer]))


def parse_statement(envelope: Envelope) -> Statement:
    """The statement inside. Raises CheckFailed when it is malformed.

    Codes: those of the JSON reader, or ``statement-type``, ``predicate-type``, ``subject``,
    ``predicate`` and ``statement-form`` for what is no statement of a report.
    """
    try:
        return parse_record(Statement, envelope.payload, Path("statement"))
    except BadInput as error:
        code = error.code if error.code != "record" else _wrong_part(error.__cause__)
        raise CheckFailed(f"malformed {error}", code=code) from error


def _wrong_part(error: BaseException | None) -> str:
    """Return the code of what does not fit in a statement: its type, its subject ..."""
    found = error.errors() if isinstance(error, ValidationError) else []
    parts = {"", *(each["loc"][0] for each in found if each["loc"])}
    return next(code for part, code in PARTS.items() if part in parts)
