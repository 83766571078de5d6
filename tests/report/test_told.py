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
def markdown(report: Path) -> str:
    return (report / "report.md").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")


class TestReadings:
    """A table a verdict: each meaning, its figure, the work it counts, whether the claim holds."""

    def test_each_stands_with_its_figure_and_its_work(self, text: str) -> None:
        table = between(text, "Under which reading of the words", "Deeper tile")
        assert table.startswith(
            " Measured Products of blocks done Work done Work counted Counted / done Figure holds"
        )
        primary, whole, wide = re.split(r" the whole | a tile of 64 ", table)
        assert "(primary)" in primary
        assert primary.endswith("65,536 of 70,000 34.36 GFLOP 34.36 GFLOP 1 no")
        assert whole.startswith("dense product, &lt;all&gt; of it ")
        assert whole.endswith("137.4 GFLOP 4 yes")
        assert wide.rstrip().endswith("no")

    def test_markdown_has_the_same(self, markdown: str) -> None:
        table = between(markdown, "Readings of demo_rate on h100:", "Readings of")
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len(rows) == 5
        assert rows[3].startswith("| the whole dense product, &lt;all&gt; of it | 800.4 TFLOP/s |")
        assert rows[3].endswith("| 65,536 of 70,000 | 34.36 GFLOP | 137.4 GFLOP | 4 | yes |")

    def test_a_verdict_whose_words_have_one_meaning_has_none(self, markdown: str) -> None:
        assert "Readings of demo_ratio" not in markdown


class TestCauses:
    def test_a_cause_stands_in_words_beside_the_status(self, html: str, markdown: str) -> None:
        cause = "other work was counted than was done"
        assert f'misstated</span><span class="reason">{cause}</span>' in html
        assert f"**misstated**: {cause} |" in markdown


class TestElsewhere:
    """Figures of other hardware are drawn and counted as such; which it is, is said once."""

    def test_what_stood_in_for_what_is_said_once(self, text: str, markdown: str) -> None:
        said = (
            "Measured on NVIDIA H100 80GB HBM3; the source names NVIDIA L4 &lt;PCIe&gt; (1 claim)."
        )
        assert text.count(said) == markdown.count(said) == 1
        assert text.count("the source names") == 1

    def test_the_row_says_what_it_would_be(self, html: str, markdown: str) -> None:
        assert "there it would be <strong>not reproduced</strong>" in html
        assert "**elsewhere**, there it would be not reproduced: rebuilt from" in markdown

    def test_its_mark_is_drawn_in_its_colour(self, html: str) -> None:
        mark = r'style="fill: none; stroke: var\(--status-elsewhere, #\w+\); stroke-width'
        assert len(re.findall(f"<use [^>]*{mark}", html)) == 1

    def test_it_is_counted_apart(self, markdown: str) -> None:
        """The headline and the table have one function's counts."""
        head = "Published speed figures: 2 reproduced, 1 misstated, 1 not run; measured elsewhere "
        assert head + "only, as they would be there: 1 not reproduced; " in markdown
        table = between(markdown, "| Counted by measurement |", "\n\n").splitlines()
        assert table[0] == " reproduced | not reproduced | misstated | inconsistent | not run |"
        assert table[2] == f"| **Published speed figures** | 2 | {NOTHING} | 1 | {NOTHING} | 1 |"
        assert table[3].startswith(
            f"| **Measured elsewhere only, as they would be there** | {NOTHING} | 1 "
        )


class TestOriginals:
    """How each was built, flag by flag, and the programs of readings among the commands."""

    def test_every_flag_has_its_source(self, text: str, markdown: str) -> None:
        assert "by the build line that the source types flags (1) -O3 the demo, line 5" in text
        place = "--use_fast_math the example's own, examples/CMakeLists.txt:77"
        assert place in text.replace("&#39;", "'")
        assert "left out (1) -Wall CMakeLists.txt:3; warnings" in text
        assert "--use_fast_math (the example's own, examples/CMakeLists.txt:77)" in markdown

    def test_asserts_and_its_own_check_are_told(self, html: str, text: str) -> None:
        assert '<span class="bad">sm_90a: compiled in</span>' in html
        assert "passed with 2 lists of arguments" in text

    def test_the_twin_that_a_reading_runs_is_a_command(self, text: str, markdown: str) -> None:
        assert "demo_fmha --b=2 Demo program, Release reading release: demo_attention" in text
        assert "(Demo program, Release; reading release: demo_attention)" in markdown
