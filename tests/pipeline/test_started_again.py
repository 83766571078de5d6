"""A finished run that is started again: what was lost comes back."""

import shutil
from pathlib import Path

import pytest

from assay.pipeline.failures import is_damaged
from tests.unmeasured import Unmeasured

FILES = {"report.html", "report.md", "verdicts.json", "manifest.json", "attestation.json",
         "signer.pub"}  # fmt: skip


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Unmeasured:
    """One checkout with a finished run; every test leaves one behind."""
    found = Unmeasured(tmp_path_factory.mktemp("again"))
    ended = found.reproduce()
    assert ended.returncode == 0, ended.stderr
    return found


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

    def test_that_lacks_evidence_and_was_edited(self, repository: Unmeasured) -> None:
        (repository.report / "evidence" / "plan.json").unlink()
        with (repository.report / "report.md").open("a") as text:
            text.write("and all of it is wonderful\n")
        self.check(repository)
        assert "wonderful" not in (repository.report / "report.md").read_text()


def test_a_report_that_is_not_there_is_not_damaged(tmp_path: Path) -> None:
    assert not is_damaged(tmp_path / "nothing")
