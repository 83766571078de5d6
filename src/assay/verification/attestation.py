"""Key files and statements: what signing and verifying share."""

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
from securesystemslib.signer import CryptoSigner, SSlibKey

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import parse_record
from assay.records.attestation import Statement
from assay.shared.read_limits import MOST_KEY_FILE, Unreadable, whole_file_bytes

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def load_signer(path: Path) -> CryptoSigner:
    """Return the signer of an Ed25519 private key, PEM or OpenSSH, without a passphrase.

    Raises BadInput with one sentence for anything else, and for a file that others may read.
    """
    data = _key_bytes(path)
    if path.stat().st_mode & OTHERS:
        problem = f"{path}: others may read this private key, or write it: chmod 600 {path}"
        raise BadInput(problem, code="key-permissions")
    openssh = b"OPENSSH PRIVATE KEY" in data
    load = load_ssh_private_key if openssh else load_pem_private_key
    try:
        key = load(data, None)
    except (TypeError, ValueError, UnsupportedAlgorithm) as error:
        if isinstance(error, TypeError) or (openssh and "encrypted" in str(error)):
            problem = (
                f"{path}: the key has a passphrase; give one without (ssh-keygen -p -N '' makes a "
                "copy of an OpenSSH key one, ./assay key new a new key)"
            )
            raise BadInput(problem, code="key-passphrase") from error
        problem = f"{path}: is not a private key in PEM or OpenSSH form"
        raise BadInput(problem, code="key-form") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInput(f"{path}: is not an Ed25519 key", code="key-type")
    return CryptoSigner(key)


def load_public_key(path: Path) -> SSlibKey:
    """Return an Ed25519 public key: one PEM block, or one line as OpenSSH writes it.

    Raises BadInput with one sentence: also for two keys.
    """
    data = _key_bytes(path)
    load = load_ssh_public_key if data.startswith(b"ssh-") else load_pem_public_key
    try:
        key = load(data.strip())
    except (ValueError, UnsupportedAlgorithm) as error:
        problem = f"{path}: is not a public key in PEM or OpenSSH form"
        raise BadInput(problem, code="key-form") from error
    if not isinstance(key, Ed25519PublicKey):
        raise BadInput(f"{path}: is not an Ed25519 key", code="key-type")
    return SSlibKey.from_crypto(key)


def public_pem(key: SSlibKey) -> bytes:
    """Return the key as PEM (SubjectPublicKeyInfo), the form of ``signer.pub``."""
    raw = bytes.fromhex(key.keyval["public"])
    return Ed25519PublicKey.from_public_bytes(raw).public_bytes(
        Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
    )


def _key_bytes(path: Path) -> bytes:
    """Return the bytes of a file of one key. Raises BadInput."""
    try:
        data = whole_file_bytes(path, MOST_KEY_FILE)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such key file") from None
    except Unreadable as error:
        raise BadInput(f"{path}: {error}", code=error.code) from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    lines = data.splitlines()
    if sum(line.startswith((b"-----BEGIN ", b"ssh-")) for line in lines) > 1:
        raise BadInput(f"{path}: holds more than one key", code="key-several")
    return data


def dump_statement(statement: Statement) -> bytes:
    """Return the statement as plain JSON: integers stay integers."""
    data = statement.model_dump(mode="json", by_alias=True)
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def parse_statement(payload: bytes) -> Statement:
    """Return the statement that was signed.

    Raises CheckFailed with the JSON reader's code, or ``statement`` for what is none of a report.
    """
    try:
        return parse_record(Statement, payload, Path("statement"))
    except BadInput as error:
        code = "statement" if error.code == "record" else error.code
        raise CheckFailed(f"malformed {error}", code=code) from error
