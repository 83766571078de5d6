"""Key files, and what keys.yaml says of the keys beside it."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from assay.base.errors import BadInput
from assay.verification.attestation import load_public_key, load_signer
from assay.verification.trusted_keys import trusted_keys


def public_pem(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def private_pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def code_of(path: Path, data: bytes, *, private: bool = False, mode: int = 0o600) -> str:
    path.write_bytes(data)
    path.chmod(mode)
    with pytest.raises(BadInput) as raised:
        (load_signer if private else load_public_key)(path)
    return raised.value.code


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_private_key_that_others_may_read(tmp_path: Path, mode: int) -> None:
    data = private_pem(Ed25519PrivateKey.generate())
    assert code_of(tmp_path / "key", data, private=True, mode=mode) == "key-permissions"


NOTES = """\
schema: assay/trusted_keys/1
keys:
  - {file: one.pub, name: First holder}
  - {file: two.pub, name: Second holder}
"""


def test_files_and_notes_name_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "trusted_keys"
    folder.mkdir(parents=True)
    keys = [folder / "one.pub", folder / "two.pub"]
    for path in keys:
        path.write_bytes(public_pem(Ed25519PrivateKey.generate().public_key()))
    (folder / "keys.yaml").write_text(NOTES)
    (folder / "README.md").write_text("whose they are")
    assert trusted_keys(tmp_path) == keys
    keys[1].unlink()
    with pytest.raises(BadInput) as raised:
        trusted_keys(tmp_path)
    assert raised.value.code == "trusted-keys"
