"""``./assay site``: pages over many reports, each verified, unverified ones marked."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.report_fixtures import signed_report, write_repository


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return signed_report(write_repository(tmp_path_factory.mktemp("site") / "repo"))


@pytest.fixture
def key(report: Path) -> tuple[str, Path]:
    return "--key", report / "signer.pub"


class Links(HTMLParser):
    """What a page refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [str(value) for name, value in attrs if name in ("href", "src")]


def test_there_is_a_page_a_claim_and_a_page_and_a_badge_a_report(
    assay: Any, report: Path, key: Any, tmp_path: Path
) -> None:
    answer = assay("site", tmp_path / "site", report, *key)
    assert answer.code == 0
    assert "1 signed report, " in answer.out
    site = tmp_path / "site"
    assert (site / "claims" / "demo_rate.html").is_file()
    (page,) = (site / "reports").glob("*.html")
    assert (page.with_suffix(".svg")).read_text().startswith("<svg")
    assert "demo_rate" in (site / "index.html").read_text()


def test_every_link_leads_to_a_page_of_the_site_and_none_outside(
    assay: Any, report: Path, key: Any, tmp_path: Path
) -> None:
    assay("site", tmp_path / "site", report, *key)
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text()
        assert "<script" not in text
        for link in Links(text).found:
            assert (page.parent / link).is_file(), (page, link)


def test_what_does_not_verify_is_marked_wherever_it_is_told(
    assay: Any, report: Path, key: Any, tmp_path: Path
) -> None:
    changed = shutil.copytree(report, tmp_path / "changed")
    (changed / "report.md").write_text("another text")
    answer = assay("site", tmp_path / "site", report, changed, *key)
    assert answer.code == 0
    assert "1 signed report, " in answer.out
    assert "1 report unverified, and marked" in answer.out
    index = (tmp_path / "site" / "index.html").read_text()
    assert "<h1>1 signed report</h1>" in index
    assert "1 more did not verify" in index
    text = (tmp_path / "site" / "claims" / "demo_rate.html").read_text()
    rows = re.findall(r"<tr[^>]*><td>.*", text)
    assert [row.startswith('<tr class="unverified">') for row in rows] == [False, True]
    assert "reproduced: " in rows[0]
    page = (tmp_path / "site" / "reports" / "0001-demo_run.html").read_text()
    assert "unverified: contents: report.md" in page
    assert "unverified" in (tmp_path / "site" / "reports" / "0001-demo_run.svg").read_text()


def test_equal_reports_give_equal_bytes_and_a_site_is_replaced(
    assay: Any, report: Path, key: Any, tmp_path: Path
) -> None:
    for name in ("one", "two", "two"):
        assert assay("site", tmp_path / name, report, *key).code == 0
    files = {p.relative_to(tmp_path / "one"): p.read_bytes()
             for p in (tmp_path / "one").rglob("*") if p.is_file()}  # fmt: skip
    assert len(files) > 5
    again = {p.relative_to(tmp_path / "two"): p.read_bytes()
             for p in (tmp_path / "two").rglob("*") if p.is_file()}  # fmt: skip
    assert files == again


def test_a_directory_of_something_else_is_left_alone(
    assay: Any, report: Path, key: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    answer = assay("site", folder, report, *key)
    assert (answer.code, answer.out) == (2, "")
    assert "holds something that is no site" in answer.err
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
