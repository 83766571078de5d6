"""``./assay history``: a claim through reports, each verified first."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.cli.given_reports import reports_on


def test_every_run_is_a_row(assay: Any, report: Path) -> None:
    answer = assay("history", "demo_rate", report, "--key", report / "signer.pub")
    assert answer.code == 0
    heads, row = (line.split("\t") for line in answer.out.splitlines())
    told = dict(zip(heads, row, strict=True))
    assert told["target"] == "h100"
    assert told["figure"].startswith("reproduced: ")
    assert told["reports"] == "demo_run"
    head, claimed, counts, again = answer.err.splitlines()[-4:]
    assert again == "Measured again by nobody else yet."
    assert head == "demo_rate: Sparse kernel <b>fast</b> | at BK=32"
    assert claimed == "claimed: 200 TFLOP/s, source demo"
    assert counts == "1 measurement in 1 report, the oldest first; 0 changes of status"


@pytest.mark.parametrize(
    ("claim", "how"),
    [("demo_support", "answered by compiling"), ("demo_audit", "answered without a GPU")],
)
def test_what_needs_no_gpu_says_how_it_was_answered(assay, report, claim, how):
    answer = assay("history", claim, report, "--key", report / "signer.pub")
    heads, row = (line.split("\t") for line in answer.out.splitlines())
    assert dict(zip(heads, row, strict=True))["measured"] == how
    assert f"{how} in 1 report" in answer.err


def test_a_claim_that_no_report_knows_is_said(assay: Any, report: Path) -> None:
    answer = assay("history", "demo_rat", report, "--key", report / "signer.pub")
    assert (answer.code, answer.out) == (2, "")
    assert "no report says anything of 'demo_rat'" in answer.err


def test_without_a_report_those_published_here_are_looked_at(
    tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "reports" / "published" / "demo_run"
    shutil.copytree(report, place)
    monkeypatch.setattr("assay.cli.checkout.ROOT", tmp_path)
    assert reports_on("demo_rate", None) == [place]
    assert reports_on("demo_rat", None) == []
