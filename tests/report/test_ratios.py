"""A figure stands to the right of its claim where it is better by what the claim says."""

import re

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.report_contents import read_contents
from assay.records.claims import Relation
from assay.records.verdicts import Verdict, VerdictsFile
from assay.report.ratios import toward_better
from assay.report.render import render_contents
from assay.report.verdict_text import verdict_text
from assay.statistics.shared_summaries import SharedSummaries
from tests.report.newest import newest_report
from tests.report.told import told_report
from tests.report_fixtures import REPOSITORY


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(REPOSITORY)


@pytest.fixture(scope="module")
def row(tmp_path_factory: pytest.TempPathFactory) -> Verdict:
    report = told_report(tmp_path_factory.mktemp("ratios") / "repo")
    return read_record(VerdictsFile, report / "verdicts.json").verdicts[0]


def said(row: Verdict, catalog: Catalog, claim: str, measured: float) -> Verdict:
    """Return a verdict on a claim that measured so much."""
    entry = catalog.claims[claim]
    assert entry.value is not None and entry.unit is not None
    return row.model_copy(
        update={
            "claim": claim,
            "source": catalog.source_of[claim],
            "claimed": entry.value,
            "unit": entry.unit.value,
            "relation": entry.relation.value,
            "measured": measured * entry.value,
            "ci90": (0.8 * measured * entry.value, 1.6 * measured * entry.value),
        }
    )


@pytest.mark.parametrize(
    ("claim", "more_is_better"),
    [
        ("s002_final", True),
        ("s002_speedup_final", True),
        ("s000_phase2_gain", True),
        ("s002_gap_baseline", False),
        ("s002_gap_phase2", False),
        ("s000_gap", False),
        ("s001_gap", False),
        ("s004_speedup", True),
        ("s004_sdpa_time", False),
        ("s001_realistic_latency", False),
        ("s001_still_slower", False),
    ],
)
def test_better_is_more_than_one(
    row: Verdict, catalog: Catalog, claim: str, more_is_better: bool
) -> None:
    """A rival's lead over the own kernel, a time and what is at most so much are better lower; one
    that is a rival's time over the own one is not.
    """
    ratio = toward_better(catalog, said(row, catalog, claim, 0.5))
    assert ratio is not None
    value, low, high = (0.5, 0.4, 0.8) if more_is_better else (2.0, 1.25, 2.5)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((value, low, high))


def test_a_tables_factor_is_that_of_the_plot(row: Verdict, catalog: Catalog) -> None:
    text = verdict_text(catalog, said(row, catalog, "s002_gap_baseline", 0.5))
    assert text.factor == "2.0\N{MULTIPLICATION SIGN}"


def test_every_bar_of_the_table_points_where_the_plot_has_its_mark() -> None:
    """Of the newest published report, in which rivals lead."""
    contents = read_contents(newest_report())
    page = render_contents(REPOSITORY, contents, SharedSummaries())["report.html"]
    plot = page.split('<svg class="strip wide"')[1].split("</svg>")[0]
    one = re.search(r'<path class="one" d="M([\d.]+)', plot)
    assert one
    marks = re.findall(
        r'<a href="#(\w+)" .*?<use [^>]*(?:x="|translate\()(-?[\d.]+)', plot, re.DOTALL
    )
    bars = {}
    for line in page.split('<tbody class="claim" id="')[1:]:
        bar = re.search(r'<span style="left:([\d.]+)%;width:([\d.]+)%', line.split("</tr>")[0])
        bars[line.split('"')[0]] = (float(bar[1]), float(bar[2])) if bar else None
    sides = set()
    for claim, x in marks:
        if bars[claim] is None:  # of what is said to be the same, neither side is ahead
            assert contents.catalog.claims[claim].relation is Relation.SAME, claim
            continue
        begin, long = bars[claim]
        if long > 1:
            sides.add(begin < 50)
            assert (float(x) < float(one[1])) == (begin < 50), claim
    assert sides == {True, False}
