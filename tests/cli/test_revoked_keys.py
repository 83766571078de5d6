"""A key that the checkout revoked vouches for nothing, by whatever file it is given."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.verification.sign import public_key_path
from tests.report_fixtures import signed_report, write_repository


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report whose key a checkout revoked."""
    report = signed_report(write_repository(tmp_path / "repo"))
    root = tmp_path / "checkout"
    folder = root / "config" / "trusted_keys"
    folder.mkdir(parents=True)
    shutil.copy(public_key_path(tmp_path / "key"), folder)
    (tmp_path / "other").mkdir()
    other = signed_report(write_repository(tmp_path / "other" / "repo"))
    shutil.copy(other / "signer.pub", folder / "other.pub")
    (folder / "keys.yaml").write_text(
        "schema: assay/trusted_keys/1\nkeys:\n"
        '  - {file: key.pub, name: First, revoked: {day: "2026-01-01", reason: stolen}}\n'
        "  - {file: other.pub, name: Second}\n"
    )
    shutil.copytree(tmp_path / "repo" / "reports" / "templates", root / "reports" / "templates")
    monkeypatch.setattr("assay.cli.checkout.ROOT", root)
    shutil.copy(public_key_path(tmp_path / "key"), tmp_path / "mine.pub")
    return report


def test_verify_refuses_it(assay: Any, report: Path, tmp_path: Path) -> None:
    answer = assay("verify", report, "--accept-policy", "--key", tmp_path / "mine.pub")
    assert answer.code == 1
    assert "was revoked on 2026-01-01: stolen" in answer.out
