"""``./assay history``: a claim through reports, each verified first."""

from pathlib import Path
from typing import Any

import pytest

from tests.report_fixtures import signed_report, write_repository


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return signed_report(write_repository(tmp_path_factory.mktemp("history") / "repo"))


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
    assert counts == "1 measurement, the oldest first; 1 report tells of it; 0 changes of status"


def test_a_claim_that_there_is_none_of_is_said_before_any_report_is_read(assay: Any) -> None:
    answer = assay("history", "s000_gapp")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "assay: there is no claim 's000_gapp' here: did you mean 's000_gap'?\n"


def test_a_claim_that_no_report_knows_is_said(assay: Any, report: Path) -> None:
    answer = assay("history", "demo_rat", report, "--key", report / "signer.pub")
    assert (answer.code, answer.out) == (2, "")
    assert "no report says anything of 'demo_rat'" in answer.err
