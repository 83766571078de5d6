"""One rule of counting: groups, sources and lines tell what the headline counts."""

import re
from collections import Counter
from pathlib import Path

import pytest

from assay.evidence.load import ReportContents, read_contents
from assay.findings.headline import KINDS, outcomes
from assay.judging.counts import outcome
from assay.report.render import render_contents
from assay.report.verdict_text import lead_of
from tests.report.newest import judged_anew, newest_report

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", params=["small", "real"])
def made(request: pytest.FixtureRequest, full_report: Path) -> tuple[ReportContents, str]:
    """What a small report that has it all holds, and the newest published one; and the page."""
    if request.param == "small":
        contents = read_contents(full_report)
    else:
        contents = judged_anew(newest_report())
    return contents, render_contents(ROOT, contents)["report.html"]


def test_the_line_of_a_claim_shows_the_verdict_that_counts(made):
    contents, page = made
    verdicts = contents.verdicts.verdicts
    rows: dict[str, list] = {}  # type: ignore[type-arg]
    for verdict in verdicts:
        rows.setdefault(verdict.claim, []).append(verdict)
    for each in outcomes(contents.catalog, verdicts):
        lead = lead_of(rows[each.lead.claim])
        if len({row.target for row in each.rows}) == 1 and lead.target == each.lead.target:
            assert lead is each.lead
        line = page.split(f'<tbody class="claim" id="{each.lead.claim}"')[1]
        assert f">{outcome(lead).word}</span>" in line.split('<tr class="more">')[0]


def test_groups_and_sources_add_up_to_the_headline(made: tuple[ReportContents, str]) -> None:
    _, page = made
    facets = re.findall(r'<tbody class="claim" id="[^"]+" data-f="([^"]*)"', page)
    numbers = Counter(
        token[2:]
        for one in "|".join(facets).split("|")
        for token in set(one.split())
        if token.startswith("k:")
    )
    groups, sources = page.split('<section id="sources">')
    heads = r"<h3>[^<]*</h3>(?: <span class=\"muted\">|\n<p [^>]*>)([^<:]*)"
    for kind, (one, many) in KINDS.items():
        for told in (" ".join(re.findall(heads, groups)), sources.split("</section>")[0]):
            found = re.findall(rf"(\d+) (?:{one}|{many})\b", told)
            assert sum(map(int, found)) == numbers[kind], kind
