"""Rendering: complete, self-contained, escaped, deterministic, and swapped in whole."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.report.render import render
from tests.report.test_golden import words
from tests.report_fixtures import provision, write_repository, write_run

LEFT_OPEN = {"td", "th", "tr", "thead", "tbody", "dt", "dd", "li", "option"}
"""What HTML lets one leave without an end tag."""
VOID = {"meta", "col", "br", "link", "img", "input", "hr"}


class Elements(HTMLParser):
    """Insists that elements are closed in order and handle no event."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not [name for name, _ in attrs if name.startswith("on")], tag
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open[-1] != tag and self.open[-1] in LEFT_OPEN:
            self.open.pop()
        assert self.open.pop() == tag


def test_elements_ids_and_local_links_are_sound(report: Path) -> None:
    for name in ("report.html", "appendix.html"):
        page, elements = (report / name).read_text(encoding="utf-8"), Elements()
        elements.feed(page)
        elements.close()
        assert elements.open == []
        ids = re.findall(r' id="([^"]*)"', page)
        assert len(ids) == len(set(ids))
        wanted = set(re.findall(r'href="#([^"]*)"', page))
        assert wanted and wanted <= set(ids)


def test_every_record_link_leads_to_a_file(report: Path) -> None:
    pages = "".join((report / name).read_text() for name in ("report.html", "appendix.html"))
    links = re.findall(r'<a [^>]*?href="([^#"]+)', pages)
    assert "evidence/h100/benchmark/demo_sweep.json.gz" in links
    for link in links:
        assert (report / link).is_file(), link


def test_content_is_escaped(report: Path) -> None:
    page = (report / "report.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;fast&lt;/b&gt; | at BK=32" in page
    assert "A demo &lt;source&gt; &amp; more" in page
    assert "<source" not in page


def test_records_are_copied_byte_for_byte(report: Path) -> None:
    """evidence/ can be judged on its own."""
    run_dir, evidence = report.parents[1] / "results" / "demo_run", report / "evidence"
    copied = [path for path in run_dir.rglob("*.gz") if path.is_file()]
    assert len(copied) == 5
    for path in copied:
        assert (evidence / path.relative_to(run_dir)).read_bytes() == path.read_bytes()
    assert not (evidence / "request.json").exists()


def test_says_so_on_top(tmp_path: Path) -> None:
    """Without a GPU the report says so on top and draws no empty axes."""
    root = write_repository(tmp_path / "repo")
    run_dir = write_run(root, "no_gpu", [provision(kind="none", detail="no H100 was found")])
    render(root, run_dir, tmp_path / "report")
    said = " ".join(words((tmp_path / "report" / "report.html").read_text()).split())
    lead = said[: said.index("published speed figures")]
    assert "No figure was measured on this machine, and none was taken" in lead
    assert "not measured: no H100 was found" in lead


class TestRendering:
    """The directory is built aside and swapped in."""

    @pytest.fixture
    def made(self, report: Path) -> Path:
        """A repository with a run's results, for tests that change nothing of it."""
        return report.parents[1]

    def test_equal_input_gives_equal_bytes(self, made: Path, tmp_path: Path) -> None:
        first, again = tmp_path / "first", tmp_path / "again"
        for out in (first, again):
            render(made, made / "results" / "demo_run", out)
        names = sorted(p.relative_to(first) for p in first.rglob("*") if p.is_file())
        assert names == sorted(p.relative_to(again) for p in again.rglob("*") if p.is_file())
        for name in names:
            assert (first / name).read_bytes() == (again / name).read_bytes(), name

    @pytest.mark.parametrize("kind", ["folder", "file", "link", "broken link"])
    def test_what_is_no_report_is_never_replaced(self, made, tmp_path, kind):
        foreign = tmp_path / "foreign"
        (foreign / "work").mkdir(parents=True)
        out = tmp_path / "reports" / "demo_run"
        out.parent.mkdir()
        if kind == "folder":
            foreign.rename(out)
            foreign = out
        elif kind == "file":
            out.touch()
        else:
            out.symlink_to(foreign if kind == "link" else tmp_path / "gone")
        with pytest.raises(BadInput, match=r"demo_run: is there, and is neither"):
            render(made, made / "results" / "demo_run", out)
        assert (foreign / "work").is_dir()
        assert [path.name for path in out.parent.iterdir()] == ["demo_run"]

    def test_a_failure_leaves_the_old_report_alone(self, made: Path, tmp_path: Path) -> None:
        run_dir = Path(shutil.copytree(made / "results" / "demo_run", tmp_path / "run"))
        (run_dir / "verdicts.json").write_text("{}")
        out = tmp_path / "reports" / "demo_run"
        out.mkdir(parents=True)
        (out / "old").write_text("old")
        (out / "manifest.json").touch()
        with pytest.raises(BadInput):
            render(made, run_dir, out)
        assert [path.name for path in out.parent.iterdir()] == ["demo_run"]
        assert (out / "old").read_text() == "old"

    def test_a_recorded_target_without_its_origin_is_refused(self, tmp_path: Path) -> None:
        root = write_repository(tmp_path / "repo")
        within = "earlier/x/evidence"
        recorded = provision(kind="recorded", recorded_in="reports/x", within=within)
        run_dir = write_run(root, "demo_run", [recorded])
        with pytest.raises(BadInput, match="nothing vouches for"):
            render(root, run_dir, tmp_path / "out")
