"""Archives of reports: the same bytes every time, read as the directory, and never trusted."""

import base64
import io
import json
import shutil
import tarfile
import tempfile
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.verification import report_archive
from assay.verification.report_archive import (
    SUFFIX,
    archived_documents,
    opened_report,
    pack_report,
    report_name,
)
from assay.verification.trust import (
    may_measure,
    project_reports,
    published_reports,
    reports_measuring,
)
from tests.report_fixtures import signed_report, write_repository

FILES = {"attestation.json": b"{}\n", "evidence/h100/a.json.gz": bytes(range(256)) * 9, "z": b""}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are unpacked: empty before and after."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "run", FILES)


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def refusal(path: Path) -> str:
    with pytest.raises(CheckFailed) as raised, opened_report(path):
        pass
    return raised.value.code


class TestPacking:
    """Equal files under an equal name are equal bytes."""

    def test_a_packed_directory_comes_out_as_it_was(self, folder: Path, tmp_path: Path) -> None:
        path = tmp_path / f"run{SUFFIX}"
        path.write_bytes(pack_report(folder))
        with opened_report(path) as opened:
            assert opened.name == "run"
            assert files_of(opened) == FILES
            assert pack_report(opened) == path.read_bytes()

    def test_other_programs_read_it(self, folder: Path) -> None:
        with tarfile.open(fileobj=io.BytesIO(pack_report(folder)), mode="r:xz") as tar:
            members = tar.getmembers()
        assert [member.name for member in members] == [f"run/{name}" for name in FILES]
        assert {(m.mode, m.uid, m.gid, m.uname, m.mtime) for m in members} == {(0o644, 0, 0, "", 0)}


@pytest.mark.parametrize("error", [KeyboardInterrupt, None])
def test_what_was_unpacked_goes_away(folder, tmp_path, temporary, error):
    path = tmp_path / f"run{SUFFIX}"
    path.write_bytes(pack_report(folder))
    if error is None:
        with opened_report(path):
            assert list(temporary.iterdir())
    else:
        with pytest.raises(error), opened_report(path):
            raise error
    assert list(temporary.iterdir()) == []


def test_an_archive_of_too_many_files_is_refused(folder, tmp_path, monkeypatch):
    path = tmp_path / f"run{SUFFIX}"
    path.write_bytes(pack_report(folder))
    monkeypatch.setattr(report_archive, "MOST_FILES", 2)
    assert refusal(path) == "archive-form"


@pytest.mark.parametrize("damage", [None, b"", b"no tar"])
def test_what_says_what_a_report_holds_is_unpacked_once(damage, folder, tmp_path, monkeypatch):
    path, cache = tmp_path / f"run{SUFFIX}", tmp_path / "cache"
    path.write_bytes(pack_report(folder))
    monkeypatch.setenv("ASSAY_CACHE", str(cache))
    assert archived_documents(path) == {"attestation.json": b"{}\n"}
    if damage is not None:
        next(cache.glob("reports/*")).write_bytes(damage)
    else:
        monkeypatch.setattr(report_archive, "read_archive", None)
    assert archived_documents(path) == {"attestation.json": b"{}\n"}


class TestPublishedReports:
    """Directories and archives in one order: the one signed last first."""

    def keep(self, root, name, created, *, packed, plan=None):
        stated = {"created": created, "verdicts": {"reproduced": 9, "not_run": 70}}
        statement = base64.b64encode(json.dumps({"predicate": stated}).encode())
        envelope = json.dumps({"payload": statement.decode()}).encode()
        files = {"appendix.html": b"before it", "attestation.json": envelope}
        files |= {"manifest.json": b"{}"}
        files |= {"evidence/plan.json": plan} if plan is not None else {}
        folder = write(root / "reports" / "published" / name, files)
        if packed:
            folder.with_name(name + SUFFIX).write_bytes(pack_report(folder))
            shutil.rmtree(folder)

    def test_how_one_is_kept_does_not_matter(self, tmp_path: Path) -> None:
        self.keep(tmp_path, "a", "2026-03-01", packed=True)
        self.keep(tmp_path, "b", "2026-01-01", packed=False)
        self.keep(tmp_path, "c", "2026-02-01", packed=True)
        self.keep(tmp_path, "d", "2026-02-01", packed=False)
        (tmp_path / "reports" / "published" / f"broken{SUFFIX}").write_bytes(b"no xz")
        (tmp_path / "reports" / "published" / "notes.txt").write_text("no report")
        names = [report_name(path) for path in published_reports(tmp_path)]
        assert names == ["a", "d", "c", "b", "broken"]

    @pytest.mark.parametrize(("kind", "may"), [("recorded", True), ("none", False)])
    def test_one_without_figures_of_a_target_is_not_opened(self, tmp_path, kind, may):
        plan = {"targets": [{"target": "h200", "provision": {"kind": kind}}]}
        self.keep(tmp_path, "a", "2026-01-01", packed=False, plan=json.dumps(plan).encode())
        (report,) = published_reports(tmp_path)
        assert may_measure(report, ["h200"]) is may
        assert not may_measure(report, ["l4"])

    def test_the_one_that_measured_most_of_what_is_asked_comes_first(self, tmp_path: Path) -> None:
        def plan(**ways: str) -> bytes:
            answers = [
                {"claim": claim, "way": way, "target": "h200"} for claim, way in ways.items()
            ]
            return json.dumps({"answers": answers}).encode()

        both = plan(a="measure", b="recorded")
        self.keep(tmp_path, "whole", "2026-01-01", packed=True, plan=both)
        self.keep(tmp_path, "part", "2026-03-01", packed=True, plan=plan(c="measure", a="not_run"))
        self.keep(tmp_path, "odd", "2026-04-01", packed=True, plan=b'{"answers": [{}]}')

        def order(*claims: str) -> list[str]:
            return [report_name(p) for p in reports_measuring(tmp_path, claims, ["h200"])]

        assert order("a", "b", "c") == ["whole", "part"]
        assert order("a", "c") == ["part", "whole"]
        assert order("c") == ["part"]
        assert order("d") == []
        self.keep(tmp_path, "open", "2026-01-02", packed=False, plan=plan(a="measure"))
        assert order("a", "b") == ["open"]
        assert order("c") == ["part"]


def test_a_projects_own_runs_are_among_its_reports(tmp_path: Path) -> None:
    root = write_repository(tmp_path / "mine")
    report = signed_report(root)
    assert project_reports(root) == [report]
    assert published_reports(root) == []
