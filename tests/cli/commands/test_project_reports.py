"""A project's own published reports: in its folder every command that reads reports takes them."""

import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
OURS = ROOT / "config" / "trusted_keys"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a project that published a report, and a cache of its user's."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return shutil.copytree(ROOT / "projects/deepgemm", tmp_path / "deepgemm")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A checkout that trusts no key of the report's signer: the project does."""
    keys = folder / "trusted_keys"
    keys.mkdir()
    for path in OURS.glob("*.pub"):
        shutil.copy(path, keys)
    monkeypatch.setattr("assay.cli.options.trusted_keys", lambda _: [])
    monkeypatch.setattr("assay.cli.given_reports.trusted_keys", lambda _: [])


def test_a_projects_published_report_answers_where_there_is_no_gpu(assay, folder, monkeypatch):
    monkeypatch.setattr("assay.pipeline.request.find_host_driver", lambda: None)
    asked = ("reproduce", "--project", folder, "--dry-run", "--claim", "scaled_128_rate")
    found = assay(*asked)
    assert found.code == 0
    assert "would be taken over from a report on h200" in found.out
    shutil.rmtree(folder / "reports/published")
    assert "would be taken over" not in assay(*asked).out


@pytest.mark.usefixtures("elsewhere")
def test_a_site_is_of_them_by_the_projects_keys(assay, folder, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    site = tmp_path / "site"
    answer = assay("site", site)
    assert answer.code == 0
    assert "1 signed report, " in answer.out
    assert "unverified" not in answer.out + answer.err
    assert "claims/scaled_128_rate.html" in (site / "claims.html").read_text()


@pytest.mark.usefixtures("elsewhere")
def test_an_export_trusts_the_keys_of_the_project_that_is_named(assay: Any, folder: Path) -> None:
    (report,) = (folder / "reports/published").iterdir()
    asked = ("export", report, "--format", "svg")
    assert assay(*asked).code == 1
    answer = assay(*asked, "--project", folder)
    assert (answer.code, "nothing measured" in answer.out) == (0, False)
