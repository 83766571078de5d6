"""``./assay history``: a claim through reports, each verified first."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.report_fixtures import signed_report, write_repository


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return signed_report(write_repository(tmp_path_factory.mktemp("history") / "repo"))


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.cli.given_reports.KEPT", tmp_path / "kept")


def test_every_run_is_a_row(assay: Any, report: Path) -> None:
    answer = assay("history", "demo_rate", report, "--key", report / "signer.pub")
    assert answer.code == 0
    heads, row = (line.split("\t") for line in answer.out.splitlines())
    told = dict(zip(heads, row, strict=True))
    assert told["target"] == "h100"
    assert told["figure"].startswith("reproduced: ")
    assert told["report"] == "demo_run"
    assert "demo_rate: 1 verdict of 1 report, 0 changes of status" in answer.err


def test_json_names_the_card_and_the_report(assay: Any, report: Path) -> None:
    (entry,) = json.loads(assay("history", "demo_rate", report, "--json").out)
    assert entry["machine"]["gpu_uuid"].startswith("GPU-")
    assert entry["verified"] is False  # the fixture's key is nobody's
    assert len(entry["manifest_sha256"]) == 64


def test_a_claim_that_no_report_knows_is_said(assay: Any, report: Path) -> None:
    answer = assay("history", "demo_rat", report, "--key", report / "signer.pub")
    assert (answer.code, answer.out) == (2, "")
    assert "no report says anything of 'demo_rat'" in answer.err
