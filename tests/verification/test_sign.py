"""Signing: keys on disk, manifests, and what the signature states."""

import base64
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as ec_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_record, write_record
from assay.evidence.stages import pipeline_path
from assay.records.attestation import PipelineRecord
from assay.shared.files import sha256_file
from assay.verification.manifest import build_manifest
from assay.verification.sign import load_or_create_signer, public_key_path, signing_key
from assay.verification.verify import verify
from tests.report_fixtures import COMMIT, signed_report, write_repository, write_run


class TestTheKeyThatPagesName:
    """A run knows its key before it renders: the page names it, and no other key signs."""

    @pytest.fixture
    def run(self, tmp_path: Path) -> Path:
        """A finished run whose evidence names ``key``."""
        run_dir = write_run(write_repository(tmp_path / "repo"), "demo_run")
        load_or_create_signer(tmp_path / "key")
        record = read_record(PipelineRecord, run_dir / pipeline_path())
        named = signing_key(tmp_path / "key", [])
        write_record(record.model_copy(update={"signing_key": named}), run_dir / pipeline_path())
        return run_dir

    def test_is_on_the_pages_and_verified(self, run: Path, tmp_path: Path) -> None:
        report = signed_report(tmp_path / "repo", key=tmp_path / "key")
        named = signing_key(tmp_path / "key", [])
        assert named is not None and named.name is None
        page = (report / "report.html").read_text(encoding="utf-8")
        assert f"by key {named.keyid[:16]}" in page.split('<section id="guards">')[1]
        assert named.keyid in page.split('<section id="verify">')[1]
        assert named.keyid in (report / "report.md").read_text(encoding="utf-8")
        signed = verify(report, [public_key_path(tmp_path / "key")]).signed
        assert signed and signed.signer.keyid == named.keyid

    def test_no_other_key_signs(self, run: Path, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match=r"its pages say that key .* signs it"):
            signed_report(tmp_path / "repo", key=tmp_path / "other")
        assert not (tmp_path / "repo" / "reports" / "demo_run" / "attestation.json").exists()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"no key at all", "is not a private key"),
        (
            ec_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            "is not an Ed25519 key",
        ),
        (
            Ed25519PrivateKey.generate().private_bytes(
                Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
            ),
            "has a passphrase",
        ),
    ],
)
def test_other_keys_are_refused_with_a_sentence(tmp_path, data, sentence):
    path = tmp_path / "key"
    path.write_bytes(data)
    path.chmod(0o600)
    with pytest.raises(BadInput, match=sentence):
        load_or_create_signer(path)


class TestStatement:
    """attestation.json is an in-toto Statement v1 in a DSSE envelope."""

    def test_statement_is_about_the_manifest(self, report: Path) -> None:
        envelope = json.loads((report / "attestation.json").read_text())
        assert envelope["payloadType"] == "application/vnd.in-toto+json"
        statement = json.loads(base64.b64decode(envelope["payload"]))
        assert statement["_type"] == "https://in-toto.io/Statement/v1"
        assert statement["subject"] == [
            {"name": "manifest.json", "digest": {"sha256": sha256_file(report / "manifest.json")}}
        ]
        predicate = statement["predicate"]
        assert predicate["commit"] == COMMIT
        assert predicate["judging"]["absolute_margin"] == 0.08
        verdicts = json.loads((report / "verdicts.json").read_text())["verdicts"]
        assert sum(predicate["verdicts"].values()) == len(verdicts)
        kinds = ["arithmetic", "assumed", "elsewhere", "own", "probes", "published", "ratios"]
        assert sorted(predicate["counts"]) == kinds
        assert predicate["counts"]["probes"] == {"reproduced": 1}

    def test_no_private_key_reaches_the_report(self, report: Path) -> None:
        for path in report.rglob("*"):
            if path.is_file():
                assert b"PRIVATE KEY" not in path.read_bytes()
                assert b"/private/" not in path.read_bytes()


def test_a_manifest_refuses_what_nobody_could_verify(own_report: Path) -> None:
    with (own_report / "evidence" / "big.bin").open("wb") as stream:
        stream.truncate(33_000_000)
    with pytest.raises(CheckFailed) as raised:
        build_manifest(own_report, "demo_run")
    assert raised.value.code == "file-size"


def test_a_date_that_is_no_number_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "tomorrow")
    with pytest.raises(BadInput, match="SOURCE_DATE_EPOCH"):
        signed_report(write_repository(tmp_path / "repo"))
