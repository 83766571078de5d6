"""A report of other judging rules is intact at most: nothing calls it verified."""

from pathlib import Path

import pytest
from securesystemslib.signer import CryptoSigner

from assay.catalog.load import load_catalog
from assay.judging import RULES
from assay.pipeline.reuse import find_recorded
from assay.records.attestation import SIGNER, Manifest
from assay.records.builds import FileDigest
from assay.records.verification import ProofState
from assay.shared.files import sha256_bytes
from assay.verification import verify as verifying
from assay.verification.attestation import public_pem
from assay.verification.made_again import OtherVersion
from assay.verification.policy import Policy
from assay.verification.sign import public_key_path
from assay.verification.signed_files import measurer_of
from assay.verification.trusted_keys import TrustedKey
from assay.verification.verify import VerificationLog, verify
from tests.report_fixtures import COMMIT, signed_report, write_repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "repo")


@pytest.fixture
def report(root: Path) -> Path:
    return signed_report(root)


@pytest.fixture
def key(root: Path) -> Path:
    return public_key_path(root.parent / "key")


@pytest.fixture(autouse=True)
def newer(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules of today that no report was judged by yet; nothing may judge by them."""

    def judge(*_: object) -> None:
        raise AssertionError("judged by today's rules")

    monkeypatch.setattr(verifying, "RULES", 99)
    monkeypatch.setattr("assay.judging.judge.judge", judge)


def test_it_is_intact_and_names_its_rules_and_commit(report: Path, key: Path) -> None:
    log = VerificationLog()
    with pytest.raises(OtherVersion) as raised:
        verify(report, [key], log=log, policy=Policy(report))
    assert (raised.value.exit_code, raised.value.code) == (1, "other-version")
    assert (raised.value.rules, raised.value.commit) == (RULES, COMMIT)
    assert f"judged by rules {RULES}" in str(raised.value)
    assert COMMIT in str(raised.value)
    assert [check.id for check in log.checks if check.passed] == [
        "signature", "statement", "shape", "contents", "evidence", "declared",
    ]  # fmt: skip
    assert {check.state for check in log.checks if not check.passed} == {ProofState.NOT_CHECKED}


def test_its_records_are_taken_over(report: Path, root: Path, key: Path) -> None:
    """What is taken are records, which are signed; their verdicts are made anew."""
    (root / "requirements").mkdir()
    (root / "requirements" / "toolchain.txt").write_text("nvcc\n")
    found = find_recorded(root, load_catalog(root), ["h100"], [report], [key])
    assert found["h100"].held.provision.kind == "recorded"


def test_who_judges_a_report_again_has_measured_nothing() -> None:
    keys = {name: CryptoSigner.generate_ed25519().public_key for name in ("measurer", "judge")}
    trusted = [TrustedKey(key, name, holder=name) for name, key in keys.items()]
    inner, outer = "evidence/earlier/run", "evidence/earlier/again"

    def measurer(**signers: str) -> str:
        files = [FileDigest(path="report.html", sha256="0" * 64, bytes=1)]
        files += [
            FileDigest(
                path=f"{folder}/{SIGNER}", sha256=sha256_bytes(public_pem(keys[by])), bytes=1
            )
            for folder, by in signers.items()
        ]
        manifest = Manifest(schema="assay/manifest/1", run="run", files=tuple(files))
        return measurer_of(trusted[1], manifest, trusted)

    assert measurer() == "judge"
    assert measurer(**{inner: "measurer"}) == "measurer"
    assert measurer(**{outer: "judge", f"{outer}/{inner}": "measurer"}) == "measurer"
    assert measurer(**{inner: "measurer", outer: "judge"}) == "judge and measurer"
