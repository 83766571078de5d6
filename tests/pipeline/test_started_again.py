"""A finished run that is started again: what was lost of its report comes back whole."""

from pathlib import Path

from assay.pipeline.failures import is_damaged
from tests.unmeasured import Unmeasured

FILES = {"report.html", "report.md", "verdicts.json", "manifest.json", "attestation.json",
         "signer.pub"}  # fmt: skip


def test_a_report_that_lacks_evidence_and_was_edited_comes_back(tmp_path: Path) -> None:
    repository = Unmeasured(tmp_path)
    assert not is_damaged(repository.report)
    ended = repository.reproduce()
    assert ended.returncode == 0, ended.stderr
    (repository.report / "evidence" / "plan.json").unlink()
    with (repository.report / "report.md").open("a") as text:
        text.write("and all of it is wonderful\n")
    assert is_damaged(repository.report)
    ended = repository.reproduce()
    assert ended.returncode == 0, ended.stderr
    assert not is_damaged(repository.report)
    assert {path.name for path in repository.report.iterdir()} >= FILES
    assert "wonderful" not in (repository.report / "report.md").read_text()
