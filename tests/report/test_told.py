"""What both accounts tell of a verdict beside its status: readings, causes, other hardware."""

import re
from pathlib import Path

import pytest

from assay.report.formatting import NOTHING
from tests.report.told import told_report


def between(text: str, start: str, end: str) -> str:
    """What stands after the first ``start``, up to ``end``."""
    rest = text.split(start, 1)[1]
    return rest.split(end, 1)[0]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return told_report(tmp_path_factory.mktemp("told") / "repo")


@pytest.fixture(scope="module")
def html(report: Path) -> str:
    return (report / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def text(html: str) -> str:
    """The page's words, its tags as spaces."""
    return " ".join(re.sub(r"<[^>]*>", " ", html.split("</style>")[1]).split())


@pytest.fixture(scope="module")
def appendix(report: Path) -> str:
    """The second page's words."""
    html = (report / "appendix.html").read_text(encoding="utf-8")
    return " ".join(re.sub(r"<[^>]*>", " ", html.split("</style>")[1]).split())


@pytest.fixture(scope="module")
def markdown(report: Path) -> str:
    return (report / "report.md").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")


class TestReadings:
    """A table a verdict: each meaning, its figure, the work it counts, whether the claim holds."""

    def test_each_stands_with_its_figure_and_its_work(self, text: str) -> None:
        table = between(text, "Reading of the words", "Deeper tile")
        assert table.startswith(
            " Measured Products of blocks done Work done Work counted Counted / done Figure holds"
        )
        primary, whole, wide = re.split(r" the whole | a tile of 64 ", table)
        assert "(primary)" in primary
        assert primary.endswith("65,536 of 70,000 34.36 GFLOP 34.36 GFLOP 1 no")
        assert whole.startswith("dense product, &lt;all&gt; of it ")
        assert whole.endswith("137.4 GFLOP 4 yes")
        assert " no stated BK=32 " in wide

    def test_a_verdict_whose_words_have_one_meaning_has_none(self, html: str) -> None:
        line = between(html, 'id="demo_ratio"', '<tbody class="claim"')
        assert "Reading of the words" not in line


class TestCauses:
    def test_a_cause_is_short_on_the_line_and_explained_once(self, html: str) -> None:
        line = between(html, 'id="demo_rate"', '<tr class="more">')
        assert line.rstrip().endswith("misstated</span><td>other work counted")
        told = "<dt>other work counted<dd>other work was counted than was done"
        assert between(html, '<section id="method">', "</section>").count(told) == 1

    def test_published_figures_that_do_not_hold_are_counted_by_cause(
        self, text: str, markdown: str
    ) -> None:
        assert "Why not: 1 other work counted ." in text
        assert "Why not: 1 other work counted." in markdown

    def test_what_was_not_run_says_why(self, text: str, markdown: str) -> None:
        assert "Not run: 1 left unsaid ." in text
        assert "Not run: 1: the source leaves out what would have to run." in markdown


class TestElsewhere:
    """Figures of other hardware are drawn and counted as such; which it is, is said once."""

    def test_what_stood_in_for_what_is_said_once(self, text: str) -> None:
        said = (
            "Measured on NVIDIA H100 80GB HBM3; the source names NVIDIA L4 &lt;PCIe&gt; (1 claim)."
        )
        assert text.count(said) == 1

    def test_the_line_says_what_it_would_be(self, html: str) -> None:
        line = between(html, 'id="demo_there"', '<tbody class="claim"')
        assert ">not reproduced</span>" in line

    def test_its_mark_is_hollow_and_that_of_what_it_would_be(self, html: str) -> None:
        line = between(html, 'id="demo_there"', '<tbody class="claim"')
        assert 'class="mark s-not_reproduced hollow"' in line
        dots = re.findall(r'<a href="#demo_there"[^>]* class="s-not_reproduced hollow">', html)
        assert len(dots) == 2, "one in the wide and one in the narrow drawing"

    def test_it_is_no_part_of_the_headline_and_counted_apart(
        self, text: str, markdown: str
    ) -> None:
        head = "4 published speed figures: 2 reproduced, 1 misstated, 1 not run."
        assert head in markdown
        assert "4 published speed figures 2 reproduced 1 misstated" in text
        assert "1 more was measured on another GPU than the source names" in markdown
        table = between(text, "Each counted once ", " Protocol ")
        assert f"Published speed figures 4 2 {NOTHING} 1 {NOTHING} 1 " in table


class TestOriginals:
    """How each was built, flag by flag, and the programs of readings among the commands."""

    def test_every_flag_has_its_source(self, appendix: str) -> None:
        assert "by the build line that the source types flags (1) -O3 the demo, line 5" in appendix
        place = "--use_fast_math the example's own, examples/CMakeLists.txt:77"
        assert place in appendix.replace("&#39;", "'")
        assert "left out (1) -Wall CMakeLists.txt:3; warnings" in appendix

    def test_asserts_and_its_own_check_are_told(self, report: Path, appendix: str) -> None:
        html = (report / "appendix.html").read_text(encoding="utf-8")
        assert '<span class="bad">sm_90a: compiled in</span>' in html
        assert "passed with 2 lists of arguments" in appendix

    def test_the_twin_that_a_reading_runs_is_a_command(self, text: str) -> None:
        assert "demo_fmha --b=2 Demo program, Release reading release: demo_attention" in text
