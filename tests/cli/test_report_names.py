"""A report is named as its page names it, wherever this checkout has it."""

from pathlib import Path

import pytest

from assay.cli import checkout
from assay.cli.given_reports import name_of
from assay.cli.options import found_report


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


def test_of_two_reports_of_a_name_the_run_here_is_taken_and_said(root, capsys):
    (root / "reports/old").mkdir()
    assert found_report(Path("old")) == Path("repo/reports/old")
    assert "not repo/reports/published/old" in capsys.readouterr().err


def test_in_a_projects_folder_its_own_come_first(root, monkeypatch):
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


@pytest.mark.parametrize(
    ("path", "run", "project", "name"),
    [
        ("a/reports/local", "local", "My kernels", "local (My kernels)"),
        ("reports/local", "local", None, "local"),
        ("a/reports/first", "first", "My kernels", "first"),
        ("copy", "local", "My kernels", "copy (run local)"),
    ],
)
def test_a_projects_report_that_nobody_named_has_the_projects_title(path, run, project, name):
    assert name_of(Path(path), run, project) == name
