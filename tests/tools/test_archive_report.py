"""Packing a report, as a maintainer does it."""

from pathlib import Path

import pytest
from tools.archive_report import main

from assay.verification.report_archive import opened_report
from assay.verification.sign import public_key_path


@pytest.fixture
def report(own_report: Path) -> Path:
    return own_report


@pytest.fixture
def key(report: Path) -> list[str]:
    return ["--key", str(public_key_path(report.parents[2] / "key"))]


def test_the_archive_lies_beside_and_gives_itself_again(report, key, tmp_path, monkeypatch):
    monkeypatch.chdir(report)
    assert main([".", *key]) == 0
    archive = report.with_name("demo_run.tar.xz")
    with opened_report(archive) as opened:
        assert main([str(opened), *key]) == 0
        assert opened.with_name("demo_run.tar.xz").read_bytes() == archive.read_bytes()


def test_a_report_that_does_not_verify_is_refused(report, key, capsys):
    (report / "report.md").write_text("other figures")
    assert main([str(report), *key]) == 1
    assert f"{report} does not verify" in capsys.readouterr().err
    assert not report.with_name("demo_run.tar.xz").exists()
