"""A report is named as its page names it, wherever this checkout has it."""

from pathlib import Path
from typing import Any

import pytest
import typer

from assay.cli import checkout
from assay.cli.report_names import found_report
from assay.verification.report_archive import report_name
from assay.verification.trust import published_reports


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for place in ("reports/made", "reports/published/old", "projects/one/reports/theirs"):
        (tmp_path / "repo" / place).mkdir(parents=True)
    (tmp_path / "repo/reports/published/packed.tar.xz").write_bytes(b"")
    monkeypatch.setattr(checkout, "ROOT", tmp_path / "repo")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "repo"


@pytest.mark.parametrize(
    ("name", "place"),
    [("made", "reports/made"), ("old", "reports/published/old"),
     ("packed", "reports/published/packed.tar.xz"),
     ("theirs", "projects/one/reports/theirs")],
)  # fmt: skip
def test_a_name_is_found_where_reports_are(root: Path, name: str, place: str) -> None:
    assert found_report(Path(name)) == Path("repo") / place


def test_in_a_projects_folder_its_own_come_first(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = root.parent / "mine"
    for place in ("reports/made", "reports/published/mine"):
        (mine / place).mkdir(parents=True)
    monkeypatch.chdir(mine)
    assert found_report(Path("mine")) == Path("mine"), "it is no project yet"
    assert found_report(Path("made")) == root / "reports/made"
    (mine / "assay.yaml").touch()
    assert found_report(Path("mine")) == Path("reports/published/mine")
    assert found_report(Path("made")) == Path("reports/made")
    assert found_report(Path("old")) == root / "reports/published/old"


def test_a_path_stays_as_it_is_given(root: Path) -> None:
    (root.parent / "made").mkdir()
    for path in ("made", "elsewhere/made", "nothing", ".", "x" * 300):
        assert found_report(Path(path)) == Path(path)


@pytest.mark.parametrize(
    ("typed", "meant"), [("mdae", "made"), ("packd", "packed"), ("their", "theirs")]
)
def test_a_slip_is_told_with_what_may_be_meant(root: Path, typed: str, meant: str) -> None:
    for place in ("reports/made", "projects/one/reports/theirs"):
        (root / place / "manifest.json").touch()
    with pytest.raises(typer.BadParameter, match=f"did you mean '{meant}'"):
        found_report(Path(typed))


@pytest.mark.parametrize("number", [0, -1])
def test_a_command_takes_the_name_of_a_published_report(assay: Any, number: int) -> None:
    """Of the newest, a directory, and of the oldest, an archive."""
    name = report_name(published_reports(checkout.ROOT)[number])
    answer = assay("export", name, "--format", "bibtex")
    assert answer.code == 0, answer.err
    assert name in answer.out.replace("\\_", "_")
