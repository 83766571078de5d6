"""The report's pages in a real Chromium: reachable, legible, printable, and sorted by their script.

Two reports are opened: a small one that has it all, and the newest published one, rendered again by
this version. Of the newest and of an older one a site and a comparison are made.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from assay.cli.commands.site import built, write_pages
from assay.cli.given_reports import figures_of_contents
from assay.findings.report_comparison import GivenReport
from assay.report.comparison_page import comparison_page, comparison_view
from assay.report.site import Site
from assay.verification.open_report import open_report
from assay.verification.trust import published_reports
from tests.browser import chromium
from tests.fetch_axe import place
from tests.report.newest import newest_texts

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "reports" / "templates"
WIDTHS = (1440, 390)
OPEN = "document.querySelectorAll('details').forEach(each => each.open = true)"
OVERLAPPING = """() => [...document.querySelectorAll("tr.line")].filter(line => {
  const boxes = [...line.children].map(cell => {
    const words = document.createRange();
    words.selectNodeContents(cell);
    return words.getBoundingClientRect();
  }).filter(box => box.width);
  return boxes.some((a, n) => boxes.slice(n + 1).some(b =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1));
}).length"""
SKIPPED = """() => [...document.querySelectorAll("h1, h2, h3, h4")]
  .map(each => Number(each.tagName[1]))
  .filter((level, n, levels) => level > (levels[n - 1] || 0) + 1).length"""
VIOLATIONS = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .map(each => [each.id, each.nodes.length, each.nodes[0].html.slice(0, 200),
                each.nodes[0].failureSummary])"""


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The texts of the newest published report, as this version renders them."""
    folder = tmp_path_factory.mktemp("real")
    for name, text in newest_texts().items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site over two published reports, one of them unverified, and their comparison."""
    folder = tmp_path_factory.mktemp("several")
    given = []
    for path in published_reports(ROOT)[:2]:
        report = open_report(path)
        figures = figures_of_contents(
            report.contents,
            created=report.created,
            manifest_sha256=report.manifest_sha256,
            with_rates=True,
        )
        key = "e73aef29" if not given else None
        given.append(GivenReport(figures.run, str(path), figures, key, "as tests have it"))
    made = Site()
    for report in given:
        made.add(report)
    with built(folder / "site") as place:
        write_pages(made, TEMPLATES, place)
    view = comparison_view(given, ())
    (folder / "compare.html").write_text(comparison_page(TEMPLATES, view), encoding="utf-8")
    return folder


@pytest.fixture(params=["full_report", "real"])
def report(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def opened(browser: "Browser", path: Path, width: int = 1440, **context: Any) -> "Page":
    """Return a page of its own context, which fails on an error of the page."""
    made = browser.new_context(viewport={"width": width, "height": 900}, **context)
    page = made.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.goto(path.as_uri())
    assert errors == []
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
class TestAccessibility:
    def test_axe_finds_nothing_with_everything_unfolded(self, browser, full_report, width, scheme):
        for name in ("report.html", "appendix.html"):
            page = opened(browser, full_report / name, width, color_scheme=scheme, bypass_csp=True)
            page.evaluate(OPEN)
            page.add_script_tag(path=place())
            assert page.evaluate(VIOLATIONS) == [], name

    def test_axe_finds_nothing_in_a_site_and_a_comparison(self, browser, several, width, scheme):
        site = several / "site"
        of = {name: sorted((site / name).glob("*.html")) for name in ("claims", "gpus", "kernels")}
        firsts = [pages[0] for pages in of.values()]
        for path in (several / "compare.html", *site.glob("*.html"), *firsts):
            page = opened(browser, path, width, color_scheme=scheme, bypass_csp=True)
            page.evaluate(OPEN)
            page.add_script_tag(path=place())
            assert page.evaluate(VIOLATIONS) == [], path.name
            box = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
            assert box[0] <= box[1], path.name


@pytest.mark.parametrize("width", [*WIDTHS, 800])
@pytest.mark.parametrize("script", [True, False])
def test_nothing_is_wider_than_the_screen(browser, report, width, script):
    """Opened or not; nor do the cells of a line lie upon each other, nor is a heading skipped."""
    for name in ("report.html", "appendix.html"):
        page = opened(browser, report / name, width, java_script_enabled=script)
        for unfolded in (False, True):
            if unfolded:
                page.locator("html").evaluate(f"() => {OPEN}")
            box = page.locator("html").evaluate("each => [each.scrollWidth, window.innerWidth]")
            assert box[0] <= box[1], name
        assert page.locator("html").evaluate(OVERLAPPING) == 0, name
        assert page.locator("html").evaluate(SKIPPED) == 0, name


@pytest.mark.parametrize("script", [True, False])
def test_paper_has_every_claim(browser: "Browser", full_report: Path, script: bool) -> None:
    page = opened(browser, full_report / "report.html", java_script_enabled=script)
    if script:
        page.fill("#search", "nothing has these words")
        assert page.locator("#shown").text_content() == "No claim fits. Reset shows all."
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    for claim in page.locator("tbody.claim").all():
        assert claim.locator("tr.line").is_visible()
    if script:
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("tbody.claim:not([hidden])").count() == 0


def test_without_a_script_every_claim_is_there(browser: "Browser", real: Path) -> None:
    page = opened(browser, real / "report.html", java_script_enabled=False)
    assert not page.locator("#controls").is_visible()
    assert page.locator("tbody.claim").count() == page.locator("tbody.claim:not([hidden])").count()
    assert page.locator("tbody.claim").first.is_visible()


class TestScript:
    """Under the page's own policy: bypassing it would prove nothing."""

    @pytest.fixture
    def page(self, browser: "Browser", real: Path) -> "Page":
        return opened(browser, real / "report.html")

    def test_it_searches(self, page: "Page") -> None:
        whole = page.locator("tbody.claim").count()
        page.fill("#search", "tma bandwidth")
        shown = page.locator("tbody.claim:not([hidden])").count()
        assert 0 < shown < whole
        said = page.locator("#shown").text_content() or ""
        assert said.startswith(f"{shown} of {whole} claims: ")
        page.click("#reset")
        assert page.locator("tbody.claim:not([hidden])").count() == whole

    def test_a_number_shows_what_it_counts(self, browser: "Browser", report: Path) -> None:
        """Of findings, of the headline and of its causes: as many lines as the number says."""
        page = opened(browser, report / "report.html")
        links = page.locator("[data-show]")
        assert links.count() > 4
        for link in links.all():
            number = re.match(r"\s*(\d+)", link.text_content() or "")
            assert number
            link.click()
            shown = page.locator("tbody.claim:not([hidden])")
            assert shown.count() == int(number[1])
            assert shown.first.is_visible()
            said = page.locator("#shown").text_content() or ""
            assert re.search(rf": {number[1]} [a-zA-Z ]+$", said)

    def test_the_address_keeps_what_is_chosen(self, page: "Page") -> None:
        shown = page.locator("tbody.claim:not([hidden])")
        whole = shown.count()
        page.locator(".chip").first.click()
        few = shown.count()
        assert few < whole
        page.reload()
        assert shown.count() == few
        page.go_back()
        page.wait_for_function("all => document.querySelectorAll('tbody.claim:not([hidden])')"
                               ".length === all", arg=whole)  # fmt: skip
        page.fill("#search", "tma")
        found = shown.count()
        page.goto(page.url.replace("report.html", "appendix.html"))
        page.go_back()
        assert (shown.count(), page.input_value("#search")) == (found, "tma")

    def test_a_mark_opens_its_claim_each_time_and_keeps_the_filters(self, page: "Page") -> None:
        chip = page.locator(".chip").last
        chip.click()
        shown = page.locator("tbody.claim:not([hidden])")
        few = shown.count()
        mark = page.locator("svg.wide.strip a").first
        claim = page.locator(f"[id='{(mark.get_attribute('href') or '')[1:]}']")
        for _ in range(2):
            mark.click()
            assert claim.locator("tr.line").is_visible()
            assert shown.count() in (few, few + 1)
            claim.locator("summary").first.click()

    def test_a_link_opens_its_claim_and_marks_it(self, page: "Page") -> None:
        claim = page.locator("details.group tbody.claim").first.get_attribute("id")
        page.evaluate("claim => { location.hash = claim }", claim)
        page.wait_for_function("claim => document.getElementById(claim)"
                               ".querySelector('details').open", arg=claim)  # fmt: skip
        target = page.locator(f"[id='{claim}']")
        assert target.is_visible()
        assert target.evaluate("each => each.matches(':target')")
