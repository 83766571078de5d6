"""Rendering: complete, self-contained, escaped, deterministic, and swapped in whole."""

import shutil
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.report.render import render
from tests.report_fixtures import provision, write_repository, write_run

LEFT_OPEN = {"td", "th", "tr", "thead", "tbody", "dt", "dd", "li", "option"}
"""What HTML lets one leave without an end tag."""
VOID = {"meta", "col", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Collects tags, attributes, ids and text; insists that elements are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self._attributes(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._attributes(tag, attrs)

    def _attributes(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            assert not name.startswith("on"), f"{tag} has a handler"
            if name == "id":
                self.ids.append(value or "")
            elif name == "href" and tag == "a":
                self.links.append(value or "")
            elif name in ("src", "href", "xlink:href", "srcset", "data", "poster"):
                self.loads.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        while self.open[-1] != tag and self.open[-1] in LEFT_OPEN:
            self.open.pop()
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one rendered report of measured figures."""
    root = write_repository(tmp_path_factory.mktemp("made") / "repo")
    render(root, write_run(root), root / "reports" / "demo_run")
    return root


@pytest.fixture(scope="module")
def html(made: Path) -> str:
    return (made / "reports" / "demo_run" / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


@pytest.fixture(scope="module")
def appendix(made: Path) -> Page:
    return Page((made / "reports" / "demo_run" / "appendix.html").read_text(encoding="utf-8"))


class TestPage:
    """report.html stands alone."""

    def test_ids_are_unique_and_local_links_lead_somewhere(
        self, page: Page, appendix: Page
    ) -> None:
        for found in (page, appendix):
            assert len(found.ids) == len(set(found.ids))
            wanted = {link[1:] for link in (*found.links, *found.loads) if link.startswith("#")}
            assert wanted
            assert wanted <= set(found.ids)

    def test_every_record_link_leads_to_a_file(
        self, made: Path, page: Page, appendix: Page
    ) -> None:
        """Manifest, attestation and key come with the signature."""
        files = {link for link in (*page.links, *appendix.links) if not link.startswith("#")}
        assert "evidence/h100/benchmark/demo_sweep.json.gz" in files
        for link in files - {"manifest.json", "attestation.json", "signer.pub"}:
            assert (made / "reports" / "demo_run" / link.split("#")[0]).is_file(), link

    def test_content_is_escaped(self, page: Page) -> None:
        assert "<b>fast</b> | at BK=32" in page.text
        assert "A demo <source> & more" in page.text
        assert "source" not in page.tags


def test_records_are_copied_byte_for_byte(made: Path) -> None:
    """evidence/ can be judged on its own."""
    run_dir = made / "results" / "demo_run"
    evidence = made / "reports" / "demo_run" / "evidence"
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
    page = Page((tmp_path / "report" / "report.html").read_text(encoding="utf-8"))
    lead = page.text[: page.text.index("published speed figures")]
    assert "No figure was measured on this machine, and none was taken" in lead
    assert "not measured: no H100 was found" in lead


class TestRendering:
    """The directory is built aside and swapped in."""

    def test_equal_input_gives_equal_bytes(self, made: Path, tmp_path: Path) -> None:
        render(made, made / "results" / "demo_run", tmp_path / "again")
        first = made / "reports" / "demo_run"
        names = sorted(p.relative_to(first) for p in first.rglob("*") if p.is_file())
        again = tmp_path / "again"
        assert names == sorted(p.relative_to(again) for p in again.rglob("*") if p.is_file())
        for name in names:
            assert (first / name).read_bytes() == (again / name).read_bytes(), name

    @pytest.mark.parametrize("kind", ["folder", "file", "link", "broken link"])
    def test_what_is_no_report_is_never_replaced(
        self, made: Path, tmp_path: Path, kind: str
    ) -> None:
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
