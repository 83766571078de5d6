"""Words of the pages: phrases that were retired stay so, and figures are written one way."""

import re
from pathlib import Path

import pytest

from assay.evidence.report_contents import read_contents
from assay.judging.verdicts import BOUNDS, FIGURES
from assay.records.claims import Relation
from assay.records.figure_words import quantity
from assay.report import formatting as fmt
from assay.report.verdict_text import claimed_text
from tests.report.newest import newest_report, newest_texts
from tests.report.told import told_report

ROOT = Path(__file__).resolve().parents[2]
RETIRED = (
    "Chance alone would make",
    "were every claim at the edge of its margin",
    "were every figure exactly true",
    "would miss the true value",
    "would be inconclusive by chance",
    "What was run, and how it stands",
    "This report holds published GPU-kernel figures against measurements",
    "It is the figure's own",
    "stands to the claim",
    "against the claimed",
    "decides nothing",
    "In the worst case, with every true value",
    "chance makes",
    "at an edge of what is allowed",
    "chance would leave",
    "worse than claimed",
    "better \N{RIGHTWARDS ARROW}",
    "so that more is better",
    "are elsewhere: shown",
    "; the furthest is",
    "under another reading it is",
    "another card and run lie within",
    "is held against a margin",
    "without a common point",
    "so that faster or more is to the right; whether",
    "which agree in SM cycles",
    "completed by the user where they lack something",
    "Nearest: ",
)
"""Each was read by somebody who had to read it twice, or repeats what stands beside it."""
PAGES = ("report.html", "appendix.html", "report.md")


def words(page: str) -> str:
    """Return what a page says, without its style, script and tags."""
    shown = re.sub(r"<(style|script)>.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", shown).split())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    report = told_report(tmp_path_factory.mktemp("words") / "repo")
    return {name: (report / name).read_text(encoding="utf-8") for name in PAGES}


@pytest.fixture(scope="module")
def real() -> dict[str, str]:
    """The newest published report, as this version says it."""
    return newest_texts()


@pytest.mark.parametrize("which", ["small", "real"])
@pytest.mark.parametrize("page", PAGES)
def test_no_retired_phrase_is_said(which: str, page: str, request: pytest.FixtureRequest) -> None:
    said = words(request.getfixturevalue(which)[page])
    assert [phrase for phrase in RETIRED if phrase in said] == []


@pytest.mark.parametrize("which", ["small", "real"])
def test_a_ratio_has_one_sign_in_cells_and_findings(
    which: str, request: pytest.FixtureRequest
) -> None:
    """No ``6.17 x`` beside ``6.169x``: findings and lines are written by the same function."""
    page = request.getfixturevalue(which)["report.html"]
    findings = re.search(r'<section id="findings">.*?</section>', page, re.DOTALL)
    lines = " ".join(re.findall(r'<tr class="line">.*?(?=<tr)', page, re.DOTALL))
    assert findings
    for text in (words(findings.group()), words(lines)):
        assert not re.search(r"\d\s?x\b(?!\d)", text)
        assert not re.search(r"\d\s\N{MULTIPLICATION SIGN}", text)


def test_a_sentence_and_its_cells_write_figures_alike(tmp_path: Path) -> None:
    """No ``6.17x`` in an explanation beside ``6.169x`` in its cell, nor 600 beside 600.0."""
    contents = read_contents(told_report(tmp_path / "repo"))
    told = 0
    for verdict in contents.verdicts.verdicts:
        if (found := FIGURES.search(verdict.explanation)) is None:
            continue
        told += 1
        low, high = verdict.ci90 or (0.0, 0.0)
        begin = f"Measured {quantity(verdict.measured, verdict.unit)} (90\N{NO-BREAK SPACE}% "
        begin += f"interval {fmt.number(low)} to {fmt.number(high)}) against the claimed "
        _, _, claimed = claimed_text(contents.catalog, verdict).rpartition(" ")
        bound = BOUNDS.get(Relation(verdict.relation), "")
        assert fmt.unbroken(found.group()) == fmt.unbroken(f"{begin}{claimed}{bound}: ")
    assert told > 3


@pytest.mark.parametrize(
    ("measured", "unit", "text"),
    [(0.020008, "ms", "20.01 µs"), (0.2, "ms", "0.2000 ms"), (152.2, "us", "152.2 µs"),
     (1342.4, "us", "1.342 ms"), (33855.3, "gflop_per_s", "33.86 TFLOP/s"),
     (998.0, "gflop_per_s", "998.0 GFLOP/s"), (2600.0, "gb_per_s", "2600 GB/s"),
     (0.0, "ms", "0 ms")],
)  # fmt: skip
def test_a_measured_figure_is_told_in_the_unit_that_people_read(
    measured: float, unit: str, text: str
) -> None:
    assert fmt.figure(measured, unit) == fmt.unbroken(text)


def test_an_interval_is_told_in_the_unit_of_its_figure() -> None:
    assert fmt.interval_of(0.020008, "ms", (0.0196, 0.1021)) == "[19.60, 102.1]"
    assert fmt.interval_of(33855.3, "gflop_per_s", (33800.0, 33900.0)) == "[33.80, 33.90]"
    assert fmt.span(0.0196, 0.020008, "ms") == fmt.unbroken("19.60 to 20.01 µs").replace(
        "\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}", " to "
    )


def test_the_pages_figures_are_in_units_that_people_read(real: dict[str, str]) -> None:
    """A source's own digits stay as they are printed, and a figure beside them has their unit."""
    lines = re.findall(r'<tr class="line">.*?(?=<tr)', real["report.html"], re.DOTALL)
    rows = [[cell.strip() for cell in re.findall(r"<td>([^<]*)", line)[:2]] for line in lines]
    assert len(rows) > 200
    told = 0
    for claimed, measured in rows:
        units = [
            re.fullmatch(r"[^\d-]*-?[\d.]+(?:-[\d.]+)?\s?(\S*)", cell)
            for cell in (claimed, measured)
        ]
        if all(units):
            told += 1
            assert units[0] and units[1] and units[0][1] == units[1][1], (claimed, measured)
    assert told > 150


def test_an_explanation_says_all_of_it_in_its_place(real: dict[str, str]) -> None:
    """No reader is sent to a note further down: the rebuilt kernel's words stand at each claim."""
    page = real["report.html"]
    assert "#note-" not in page
    line = page.split('<tbody class="claim" id="s002_phase1"')[1].split("</tbody")[0]
    assert "What ran was rebuilt here (002: Phase 1 row (8 warps" in line.split('id="s002_')[0]


def test_where_a_reading_could_change_it_a_verdict_is_open(real: dict[str, str]) -> None:
    """What the author's program prints lies on the margin's edge."""
    line = real["report.html"].split('<tbody class="claim" id="s002_final"')[1].split("<tbody")[0]
    head = line.split('<tr class="more">')[0]
    assert ">inconclusive</span>" in head and "<td>a reading is missing" in head
    assert "Not final: by its plain meaning the figure is not reproduced" in words(line)


MOST_WORDS = 32
"""Of a sentence that this project writes. Sources' own words, and lists, may be longer."""


@pytest.mark.parametrize("section", ["claims", "runs", "commands", "method", "verify"])
def test_no_sentence_of_ours_is_long(real: dict[str, str], section: str) -> None:
    found = re.search(rf'<section id="{section}".*?</section>', real["report.html"], re.DOTALL)
    assert found
    told = re.sub(r"<(table|details|dl|div|pre)\b.*?</\1>", " ", found.group(), flags=re.DOTALL)
    blocks = re.findall(
        r"<(?:p|li)\b[^>]*>(.*?)(?=<(?:p|li|/ul|/section)\b|</p>|$)", told, re.DOTALL
    )
    sentences = [
        sentence for block in blocks for sentence in re.split(r"[.:;]\s+", words(block)) if sentence
    ]
    assert sentences
    assert [each for each in sentences if len(each.split()) > MOST_WORDS] == []


def test_lines_to_copy_can_be_typed(real: dict[str, str]) -> None:
    """They name the report as it is published, and stand for nothing that a reader has to find."""
    name = newest_report().name
    for page in ("report.html", "report.md"):
        typed = re.findall(r"^(?:.*>)?\s*(\./assay verify [^<\n]*)", real[page], re.MULTILINE)
        assert set(typed) == {f"./assay verify {name}"}, page
        assert not re.search(r"\b[A-Z]+_[A-Z_]+\b", " ".join(typed))


def test_nothing_is_told_in_nanoseconds_beside_milliseconds(real: dict[str, str]) -> None:
    for page in PAGES:
        assert not re.search(r"\d\sns\b", words(real[page])), page


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.1076, "0.11"), (0.0734, "0.073"), (1.05, "1.05"), (6.82, "6.8"),
                        (13.2, "13")],
)  # fmt: skip
def test_a_factor_has_no_more_digits_than_tell_it_from_one(ratio: float, text: str) -> None:
    assert fmt.factor(ratio) == f"{text}\N{MULTIPLICATION SIGN}"


def test_the_readmes_picture_is_there_and_small() -> None:
    assert "](docs/report.png)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert 0 < (ROOT / "docs" / "report.png").stat().st_size < 150_000


def test_the_short_text_is_one_page_with_a_narrow_table(real: dict[str, str]) -> None:
    text = real["report.md"]
    assert len(text.split()) < 1200
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.count("|") - 1 <= 10 for line in table)
    shown = [re.sub(r"\]\([^)]*\)", "]", line) for line in table[2:]]
    assert all(len(line) <= 80 for line in shown)
