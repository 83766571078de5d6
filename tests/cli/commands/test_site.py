"""``./assay site``: pages over many reports, each verified, unverified ones marked."""

import json
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from assay.cli.commands.site import built


def test_it_has_what_a_reader_and_a_program_look_for(assay, report, key, tmp_path):
    answer = assay("site", tmp_path / "site", report, *key, "--title", "Our <kernels>")
    assert answer.code == 0
    assert "1 signed report, " in answer.out
    site = tmp_path / "site"
    text = (site / "claims" / "demo_rate.html").read_text()
    assert '<svg role="img" aria-label="Measured figures over time"' in text
    assert "Our &lt;kernels&gt;" in (site / "index.html").read_text()
    told = json.loads((site / "assay-site.json").read_text())
    (one,) = told["reports"]
    assert (one["run"], one["verified"], one["archive"]) == ("demo_run", True, "")
    assert (site / one["page"]).read_bytes() == (report / "report.html").read_bytes()
    assert (site / one["record"]).with_name("badge.svg").read_text().startswith("<svg")
    assert str(tmp_path) not in (site / one["record"]).read_text()
    rate = next(each for each in told["claims"] if each["claim"] == "demo_rate")
    assert (rate["measurements"], len(rate["signers"]), len(rate["cards"])) == (1, 1, 1)
    feed = ElementTree.parse(site / "feed.xml").getroot()
    atom = "{http://www.w3.org/2005/Atom}"
    (link,) = [each.get("href") for each in feed.findall(f"{atom}entry/{atom}link")]
    assert link == one["page"]
    assert [path.stem for path in (site / "gpus").iterdir()] == ["h100"]
    assert [path.stem for path in (site / "kernels").iterdir()] == ["bsr_gemm"]


def test_every_link_leads_to_a_page_of_the_site_and_none_outside(assay, report, key, tmp_path):
    assay("site", tmp_path / "site", report, *key)
    pages = [path for path in (tmp_path / "site").rglob("*.html") if "reports" not in path.parts]
    assert len(pages) > 6
    for page in pages:
        text = page.read_text()
        assert "<script" not in text
        assert "default-src 'none'" in text
        for link in re.findall(r' (?:href|src)="([^"]*)"', text):
            assert (page.parent / link.partition("#")[0]).is_file() or link[0] == "#", (page, link)


def test_what_does_not_verify_is_marked_and_nothing_of_it_is_published(
    assay: Any, report: Path, key: Any, tmp_path: Path
) -> None:
    changed = shutil.copytree(report, tmp_path / "changed")
    (changed / "report.md").write_text("another text")
    answer = assay("site", tmp_path / "site", report, changed, *key)
    assert answer.code == 0
    assert "1 signed report, " in answer.out
    assert "1 report unverified, and marked" in answer.out
    site = tmp_path / "site"
    index = (site / "index.html").read_text()
    assert "1 signed report</h2>" in index
    assert "unverified: contents: report.md" in index
    text = (site / "claims" / "demo_rate.html").read_text()
    assert text.count("<tr>") == 2  # its head, and the row of the signed report
    assert len([*(site / "reports").iterdir()]) == 1


class TestMadeAgain:
    """A report that the site has is not verified again, unless something changed."""

    @pytest.fixture
    def clean(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("assay.cli.commands.site.git_state", lambda _: ("c" * 40, True))

    @pytest.mark.usefixtures("clean")
    def test_an_unchanged_one_is_taken_over(self, assay, report, key, tmp_path) -> None:
        site = tmp_path / "site"
        assert "demo_run: verified" in assay("site", site, report, *key).err
        first = files(site)
        assert "1 report unchanged" in assay("site", site, report, *key).err
        assert files(site) == first

    @pytest.mark.usefixtures("clean")
    def test_a_changed_one_and_one_without_its_key_are_not(self, assay, report, key, tmp_path):
        site, copy = tmp_path / "site", shutil.copytree(report, tmp_path / "demo_run")
        assay("site", site, copy, *key)
        assert "demo_run: unverified" in assay("site", site, copy).err
        assay("site", site, copy, *key)
        (copy / "report.html").write_text("another page")
        assert "demo_run: unverified" in assay("site", site, copy, *key).err
        assert not (site / "reports").exists()


def files(site: Path) -> dict[Path, bytes]:
    return {p.relative_to(site): p.read_bytes() for p in site.rglob("*") if p.is_file()}


def test_equal_reports_give_equal_bytes_and_a_site_is_replaced(assay, report, key, tmp_path):
    for name in ("one", "two", "two"):
        assert assay("site", tmp_path / name, report, *key).code == 0
    assert len(files(tmp_path / "one")) > 5
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_a_directory_of_something_else_is_left_alone(assay, report, key, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    answer = assay("site", folder, report, *key)
    assert (answer.code, answer.out) == (2, "")
    assert "holds something that is no site" in answer.err
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_is_no_part_of_a_site_is_never_lost(tmp_path, monkeypatch, interrupted):
    """As the .git of a branch that publishes it, and a report that is taken over."""
    place = tmp_path / "site"
    for name in (".git", "reports/kept", "claims"):
        (place / name).mkdir(parents=True)
    with (
        monkeypatch.context() as patch,
        suppress(KeyboardInterrupt),
        built(place, {"reports/kept"}) as building,
    ):
        (building / "index.html").write_text("new")
        if interrupted:
            patch.setattr(shutil, "rmtree", stopped)
    left = [each.name for each in place.iterdir()]
    assert sorted(left) == [".git", "index.html", "reports"]
    assert (place / "reports" / "kept").is_dir()


def stopped(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
