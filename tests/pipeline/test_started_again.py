"""A finished run that is started again: what was lost comes back, whatever the clock says."""

import os
import shutil
import time
from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.pipeline.retry import is_damaged
from assay.records.verdicts import VerdictsFile
from tests.report_fixtures import signed_report, write_repository
from tests.unmeasured import Unmeasured

FILES = {"report.html", "report.md", "verdicts.json", "manifest.json", "attestation.json",
         "signer.pub"}  # fmt: skip
YEARS_NS = 4 * 365 * 86_400 * 10**9


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Unmeasured:
    """One checkout with a finished run; every test leaves one behind."""
    found = Unmeasured(tmp_path_factory.mktemp("again"))
    ended = found.reproduce()
    assert ended.returncode == 0, ended.stderr
    return found


def dated_in_the_future(root: Path) -> list[Path]:
    limit = time.time() + 60
    return [path for path in root.rglob("*") if path.lstat().st_mtime > limit]


def date_later(*folders: Path) -> None:
    """Date all that lies in folders some years later, each by as much."""
    for path in (path for folder in folders for path in (folder, *folder.rglob("*"))):
        when = path.lstat().st_mtime_ns + YEARS_NS
        os.utime(path, ns=(when, when), follow_symlinks=False)


class TestAReport:
    """It comes back whole."""

    def check(self, repository: Unmeasured) -> None:
        """Start the run, whose last step verifies the report."""
        ended = repository.reproduce()
        assert ended.returncode == 0, ended.stderr
        assert not is_damaged(repository.report)
        assert {path.name for path in repository.report.iterdir()} >= FILES

    def test_that_was_deleted(self, repository: Unmeasured) -> None:
        shutil.rmtree(repository.report)
        self.check(repository)

    def test_that_lacks_its_attestation(self, repository: Unmeasured) -> None:
        (repository.report / "attestation.json").unlink()
        self.check(repository)

    def test_that_lacks_evidence_and_was_edited(self, repository: Unmeasured) -> None:
        (repository.report / "evidence" / "plan.json").unlink()
        with (repository.report / "report.md").open("a") as text:
            text.write("and all of it is wonderful\n")
        self.check(repository)
        assert "wonderful" not in (repository.report / "report.md").read_text()


class TestAClockThatWentBackwards:
    """Files of a run are dated in the future: it goes on all the same."""

    def test_what_is_missing_is_made(self, repository: Unmeasured) -> None:
        date_later(repository.run_dir, repository.report, repository.root / "kernels")
        (repository.run_dir / "verdicts.json").unlink()
        shutil.rmtree(repository.report)
        ended = repository.reproduce()
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr.count("the clock went backwards: ") == 1
        assert dated_in_the_future(repository.root) == []
        assert read_record(VerdictsFile, repository.run_dir / "verdicts.json").run == "first"

    def test_and_nothing_else(self, repository: Unmeasured) -> None:
        before = (repository.run_dir / "verified.txt").stat().st_ino
        date_later(repository.run_dir, repository.report)
        ended = repository.reproduce()
        assert ended.returncode == 0, ended.stderr
        assert (repository.run_dir / "verified.txt").stat().st_ino == before


def test_a_report_that_is_not_there_is_not_damaged(tmp_path: Path) -> None:
    assert not is_damaged(tmp_path / "nothing")


def test_a_report_whose_list_of_files_cannot_be_read_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{")
    assert is_damaged(tmp_path)


def test_a_report_without_the_provenance_that_it_names_is_damaged(tmp_path: Path) -> None:
    """No list of files has it, nor does the workflow ask for it: not every run builds something."""
    report = signed_report(write_repository(tmp_path / "repo"))
    assert not is_damaged(report)
    (report / "provenance.json").write_text("another")
    assert is_damaged(report)
    (report / "provenance.json").unlink()
    assert is_damaged(report)
