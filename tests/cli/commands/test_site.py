"""``./assay site``: pages over many reports, each verified, unverified ones marked."""

import gc
import re
import shutil
import weakref
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from assay.cli.commands.site import site_of
from assay.cli.given_reports import given_reports
from assay.findings.given_report import GivenReport
from assay.findings.headline import KINDS
from assay.findings.report_figures import unread_figures
from assay.records.verdicts import Status
from assay.report import site as pages
from tests.findings.test_card_spread import figure, machine
from tests.findings.test_card_spread import report as report_of
from tests.report_fixtures import signed_report, write_repository

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return signed_report(write_repository(tmp_path_factory.mktemp("site") / "repo"))


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.cli.given_reports.KEPT", tmp_path / "kept")


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


def test_claims_stand_with_title_and_claimed_figure(
    assay: Any, report: Path, key: Any, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    assay("site", site, report, *key)
    title = "Sparse kernel &lt;b&gt;fast&lt;/b&gt; | at BK=32"
    (page,) = (site / "reports").glob("*.html")
    link = '<a href="{}claims/demo_rate.html">' + title + "</a><br><small>demo_rate</small>"
    assert (
        f'<th scope="row">{link.format("")}<td>200 TFLOP/s<td>' in (site / "index.html").read_text()
    )
    assert f"<tr><td>{link.format('../')}<td>h100<td>200 TFLOP/s<td>" in page.read_text()
    claim = (site / "claims" / "demo_rate.html").read_text()
    assert f"<h1>{title}</h1>" in claim
    assert "Claimed: 200 TFLOP/s. Source demo, claim <code>demo_rate</code>." in claim


def test_an_unverified_report_names_no_claim(
    assay: Any, report: Path, key: Any, tmp_path: Path
) -> None:
    changed = shutil.copytree(report, tmp_path / "changed")
    (changed / "report.md").write_text("another text")
    assay("site", tmp_path / "site", changed, *key)
    claim = (tmp_path / "site" / "claims" / "demo_rate.html").read_text()
    assert "<h1>demo_rate</h1>" in claim


def test_a_measurement_is_one_row_with_all_reports_that_carry_it(
    assay: Any, report: Path, key: Any, tmp_path: Path
) -> None:
    other = signed_report(write_repository(tmp_path / "repo"), "demo_two")
    assay("site", tmp_path / "site", report, other, *key, "--key", other / "signer.pub")
    claim = (tmp_path / "site" / "claims" / "demo_rate.html").read_text()
    (row,) = re.findall(r"<tr><td>h100.*", claim)
    assert row.count("../reports/") == 2
    assert "1 measurement; 2 reports tell of it; 0 changes of status" in claim


def test_a_report_that_is_given_twice_is_counted_and_shown_once(
    assay: Any, report: Path, key: Any, tmp_path: Path
) -> None:
    copy = shutil.copytree(report, tmp_path / "copy")
    answer = assay("site", tmp_path / "site", report, copy, *key)
    assert "1 signed report, " in answer.out
    assert "; 1 report given again, and there once" in answer.out
    index = (tmp_path / "site" / "index.html").read_text()
    assert "<h1>1 signed report</h1>" in index
    assert "1 more was given that is one of these, by the same manifest: each stands once" in index
    assert "<small>given again as copy (run demo_run)</small>" in index
    assert len(list((tmp_path / "site" / "reports").glob("*.html"))) == 1
    claim = (tmp_path / "site" / "claims" / "demo_rate.html").read_text()
    assert "1 measurement; 1 report tells of it; " in claim


def test_published_figures_stand_first_and_a_projects_own_claims_behind(
    assay: Any, report: Path, key: Any, tmp_path: Path
) -> None:
    assay("site", tmp_path / "site", report, *key)
    index = (tmp_path / "site" / "index.html").read_text().split("Claims and reports")[-1]
    order = re.findall(r'<tr><th scope="row"><a href="claims/(\w+)\.html">', index)
    (given,) = given_reports([report], [key[1]])
    kinds = [given.figures.claims[claim].kind for claim in order]
    assert kinds == sorted(kinds, key=[*KINDS].index)
    assert kinds[0] == "figures" != kinds[-1]
    assert order != sorted(order)


def test_the_matrix_tells_what_was_measured_here_elsewhere_and_in_another_report() -> None:
    nothing = {"measured": None, "ci90": None, "status": Status.NOT_RUN, "reason": "no_device"}
    away = {"target": "h200", "status": Status.ELSEWHERE, "as_if": Status.NOT_REPRODUCED}
    figures = (
        figure(1.0, claim="own"),
        figure(1.0, claim="carried", taken_over=True),
        figure(1.0, claim="away", **away),
        figure(1.0, claim="away_carried", taken_over=True, **away),
        figure(1.0, claim="answered").model_copy(update=nothing),
        figure(1.0, claim="answered", **away),
        figure(1.0, claim="both"),
        figure(1.0, claim="both", **away),
        figure(1.0, claim="idle").model_copy(update=nothing),
        figure(1.0, claim="idle", target="h200").model_copy(update=nothing),
    )
    given = GivenReport("r", "", report_of("run_1", machine("card", "t1"), *figures), "key", "")
    index = dict(site_of([given]).pages(ROOT / "reports" / "templates"))["index.html"]
    rows = re.findall(r'<tr><th scope="row"><a href="claims/(\w+)\.html">.*<td>(.*)', index)
    assert dict(rows) == {
        "own": "R", "carried": "(R)", "away": "N°", "away_carried": "(N°)", "answered": "N°",
        "both": "RN°", "idle": "-",
    }  # fmt: skip
    legend = index.split("<h2>Claims and reports</h2>")[1].split("</p>")[0]
    assert all(f"<b>{sign}</b>" in legend for sign in ("R", "N", "R°", "(R)", "-"))


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


def test_many_reports_are_taken_up_without_the_collector_and_leave_nothing_behind() -> None:
    class Knot:
        """What a failed verification leaves: it refers to itself."""

        def __init__(self) -> None:
            self.own = self

    left = []

    def reports() -> Iterator[GivenReport]:
        for number in range(3):
            knot = Knot()
            left.append(weakref.ref(knot))
            assert not gc.isenabled()
            assert [each() for each in left[:-1]] == [None] * number
            del knot
            yield GivenReport(f"r{number}", "", unread_figures(), None, "unverified: nothing")

    assert len(site_of(reports()).reports) == 3
    assert gc.isenabled()
    assert left[-1]() is None


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


def test_a_name_that_is_markup_is_shown_as_it_is(
    assay: Any, report: Path, key: Any, tmp_path: Path
) -> None:
    copy = shutil.copytree(report, tmp_path / "<b onload=x>")
    assay("site", tmp_path / "site", copy, *key)
    for page in (tmp_path / "site").rglob("*.html"):
        assert "<b onload" not in page.read_text()


def test_long_lists_are_split_into_pages(
    assay: Any, report: Path, key: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "REPORTS_A_PAGE", 2)
    monkeypatch.setattr(pages, "RUNS_A_PAGE", 2)
    others = [shutil.copytree(report, tmp_path / name) for name in ("two", "three")]
    for other in others:  # which do not verify, and are rows of their own
        (other / "report.md").write_text("another text")
    assay("site", tmp_path / "site", report, *others, *key)
    site = tmp_path / "site"
    assert sorted(path.name for path in site.glob("index*")) == ["index-2.html", "index.html"]
    assert (site / "claims" / "demo_rate-2.html").is_file()
    assert "demo_rate-2.html" in Links((site / "claims" / "demo_rate.html").read_text()).found
