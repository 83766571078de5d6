"""Reports under way: what is said while they are verified, at a terminal and without one."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from assay.base.check_log import passed_check
from assay.cli import console
from assay.cli.live_reports import ReportsUnderWay
from assay.findings.given_report import GivenReport
from assay.findings.report_figures import unread_figures
from assay.verification.verify import VerificationLog
from tests.cli.test_tables import Terminal
from tests.report_fixtures import signed_report, write_repository


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return signed_report(write_repository(tmp_path_factory.mktemp("live") / "repo"))


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.cli.given_reports.KEPT", tmp_path / "kept")


def test_without_a_terminal_the_work_is_announced_once_and_each_report_is_a_line(
    assay: Any, report: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(report, tmp_path / "copy")
    given = ("history", "demo_rate", report, copy, "--key", report / "signer.pub")
    first, *others = assay(*given).err.splitlines()
    assert first.startswith("assay: verifying 2 reports: a report that was not verified before is")
    assert [line.split(":")[1] for line in others[:2]] == [" demo_run", " copy (run demo_run)"]
    again = assay(*given).err.splitlines()
    assert all(line.endswith(" (verified before, and unchanged since)") for line in again[:2])
    assert "verifying" not in "".join(again)


def test_a_terminal_has_one_line_and_then_what_came_of_it(
    assay: Any, report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = shutil.copytree(report, tmp_path / "broken")
    (broken / "report.md").write_text("another text")
    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(
        console, "err", Console(file=stream, width=60, force_terminal=True, highlight=False)
    )
    answer = assay("history", "demo_rate", report, broken, "--key", report / "signer.pub")
    drawn = stream.getvalue()
    assert "verifying report 1 of 2, demo_run: " in drawn
    assert "verifying report 2 of 2, broken: " in drawn
    assert "unverified: contents: report.md" in drawn
    assert "1 of 2 reports verified, signed by " in answer.err


def test_the_line_counts_reports_and_checks() -> None:
    reports, log = ReportsUnderWay(3, live=True), VerificationLog()
    reports.next("one")
    assert reports.line() == "verifying report 1 of 3, one: 0 s"
    reports.begun(log)
    log.add(passed_check("signature", "holds"))
    assert reports.line() == "verifying report 1 of 3, one: 1 check made, 0 s"
    figures = unread_figures()
    reports.ended(GivenReport("one", "", figures, "k" * 64, "", kept=True, signer="me"))
    reports.next("two")
    assert reports.line() == "verifying report 2 of 3, two: 0 s"
    assert reports.summary() == (
        f"1 of 1 report verified, signed by me ({'k' * 12}); "
        "1 of them verified before, and unchanged since"
    )
