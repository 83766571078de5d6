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
from assay.verification.sign import sign
from assay.verification.trusted_keys import trusted_keys
from assay.verification.verify import verify
from tests.report_fixtures import signed_report, write_repository


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


class TestKeyFiles:
    """One key a file, Ed25519, of the large order."""

    def test_an_openssh_line_and_a_pem_block_are_one_key(self, tmp_path: Path) -> None:
        key = Ed25519PrivateKey.generate().public_key()
        (tmp_path / "a.pub").write_bytes(public_pem(key))
        line = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b" somebody@host\n"
        (tmp_path / "b.pub").write_bytes(line)
        one, other = (load_public_key(tmp_path / name) for name in ("a.pub", "b.pub"))
        assert one.keyid == other.keyid

    @pytest.mark.parametrize("mode", [0o640, 0o604])
    def test_a_private_key_that_others_may_read(self, tmp_path: Path, mode: int) -> None:
        data = private_pem(Ed25519PrivateKey.generate())
        assert code_of(tmp_path / "key", data, private=True, mode=mode) == "key-permissions"


NOTES = """\
schema: assay/trusted_keys/1
keys:
  - file: one.pub
    name: First holder
{one}
  - file: two.pub
    name: Second holder
"""


class TestNotes:
    """keys.yaml: names, days, revocation."""

    @pytest.fixture
    def report(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1793491200")  # 2026-11-01
        report = signed_report(write_repository(tmp_path / "repo"), key=tmp_path / "one")
        folder = tmp_path / "repo" / "config" / "trusted_keys"
        folder.mkdir(exist_ok=True)
        (tmp_path / "one.pub").rename(folder / "one.pub")
        key = Ed25519PrivateKey.generate()
        (tmp_path / "two").write_bytes(private_pem(key))
        (tmp_path / "two").chmod(0o600)
        (folder / "two.pub").write_bytes(public_pem(key.public_key()))
        return report

    @staticmethod
    def note(report: Path, one: str = "") -> Path:
        root = report.parents[1]
        text = NOTES.format(one=one)
        (root / "config" / "trusted_keys" / "keys.yaml").write_text(text)
        return root

    def test_files_and_notes_name_the_same(self, report: Path) -> None:
        root = self.note(report)
        folder = root / "config" / "trusted_keys"
        (folder / "README.md").write_text("whose they are")
        assert trusted_keys(root) == [folder / "one.pub", folder / "two.pub"]
        (folder / "two.pub").unlink()
        with pytest.raises(BadInput) as raised:
            trusted_keys(root)
        assert raised.value.code == "trusted-keys"

    def test_a_key_that_another_signs_over(self, report: Path, tmp_path: Path) -> None:
        root = self.note(report, '    revoked: {day: "2026-11-01", reason: lost}')
        sign(report, tmp_path / "two")
        assert verify(report, trusted_keys(root)).holds
