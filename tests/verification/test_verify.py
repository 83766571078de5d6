"""Verification: a sound report passes, and every kind of tampering is named."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import CheckFailed
from assay.evidence.load import ReportContents
from assay.report.render import render_contents
from assay.verification import signed_files
from assay.verification import verify as verifying
from assay.verification.made_again import OtherVersion, Renderer
from assay.verification.sign import public_key_path, sign
from assay.verification.verify import VerificationLog, verify
from tests.report_fixtures import COMMIT


@pytest.fixture
def report(own_report: Path) -> Path:
    return own_report


def test_a_changed_byte_ends_it_before_anything_is_opened(report, tmp_path, monkeypatch):
    copy = Path(shutil.copytree(report, tmp_path / report.name))
    claims = copy / "evidence" / "config" / "claims" / "demo.yaml"
    claims.write_text(claims.read_text().replace("value: 200", "value: 201"))
    monkeypatch.setattr(verifying, "load_catalog", lambda _: pytest.fail("opened"))
    with pytest.raises(CheckFailed) as caught:
        verify(copy, [public_key_path(report.parents[2] / "key")])
    assert caught.value.code == "contents"


def test_nothing_that_a_stranger_signed_is_parsed(report, monkeypatch):
    def parse(*_: object) -> None:
        raise AssertionError("parsed")

    sign(report, report.parents[2] / "stranger")
    for name in ("load_catalog", "load_evidence", "read_contents"):
        monkeypatch.setattr(verifying, name, parse)
    monkeypatch.setattr(signed_files, "parse_record", parse)
    monkeypatch.setattr(signed_files, "walk", parse)
    with pytest.raises(CheckFailed) as raised:
        verify(report, [public_key_path(report.parents[2] / "key")])
    assert raised.value.code == "signature-untrusted"
    assert "parsed" not in str(raised.value)


class TestTexts:
    """The readable texts are what this version renders from the evidence."""

    @staticmethod
    def renderer(base: Path, commit: str | None = COMMIT, clean: bool = True) -> Renderer:
        return Renderer(partial(render_contents, base / "repo"), commit, clean)

    @staticmethod
    def rewrite(report: Path, name: str) -> None:
        """Praise in the text, signed by the trusted key."""
        text = (report / name).read_text()
        (report / name).write_text(text.replace("demo_run", "Wonderful"))
        sign(report, report.parents[2] / "key")

    def verified(self, report: Path, **changes: Any) -> VerificationLog:
        base = report.parents[2]
        return verify(report, [base / "key.pub"], renderer=self.renderer(base, **changes))

    @pytest.mark.parametrize("changes", [{"commit": "f" * 40}, {"commit": None}, {"clean": False}])
    def test_pages_of_another_version_are_not_verified(self, report, changes):
        self.rewrite(report, "report.md")
        with pytest.raises(OtherVersion) as raised:
            self.verified(report, **changes)
        assert (raised.value.exit_code, raised.value.code) == (1, "other-version")
        assert "report.md: " in str(raised.value)
        assert COMMIT in str(raised.value)

    @pytest.mark.parametrize(("commit", "code"), [("f" * 40, "other-version"), (COMMIT, "texts")])
    def test_a_renderer_that_fails_verifies_nothing(self, report, commit, code):
        def broken(contents: ReportContents) -> dict[str, str]:
            raise KeyError("a field of tomorrow")

        keys = [report.parents[2] / "key.pub"]
        with pytest.raises(CheckFailed) as raised:
            verify(report, keys, renderer=Renderer(broken, commit, True))
        assert raised.value.code == code
