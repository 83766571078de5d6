"""One rule of counting: a number of the page is that of the lines which its choice shows.

What the page's script does with a choice is done here: it shows the lines that have a facet which
fits, and counts these facets.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.evidence.load import ReportContents, read_contents
from assay.findings.headline import KINDS, outcomes
from assay.judging.counts import outcome
from assay.report.render import render_contents
from assay.report.verdict_text import lead_of
from tests.report.newest import judged_anew, newest_report

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Made:
    """A report and its texts."""

    contents: ReportContents
    texts: dict[str, str]

    @property
    def page(self) -> str:
        return self.texts["report.html"]

    def facets(self) -> list[tuple[str, set[str]]]:
        """(claim, what it can be chosen by) of all that counts on the page."""
        found = re.findall(r'<tbody class="claim" id="([^"]+)" data-f="([^"]*)"', self.page)
        return [(claim, set(one.split())) for claim, all_ in found for one in all_.split("|")]

    def fitting(self, choice: str) -> list[str]:
        """Return the claims that a choice shows, each as often as it counts."""
        wanted = {part.replace("=", ":") for part in choice.split("&amp;")}
        return [claim for claim, tokens in self.facets() if wanted <= tokens]

    def told(self) -> list[tuple[str, int]]:
        """(choice, the number that the page tells by it), of all that it tells by one."""
        links = re.findall(r'data-show="([^"]+)">(.*?)</a>', self.page)
        shown = [(choice, re.sub(r"<[^>]*>", "", words)) for choice, words in links]
        return [(choice, int(re.match(r"\s*(\d+)", words)[1])) for choice, words in shown]  # type: ignore[index]


@pytest.fixture(scope="module", params=["small", "real"])
def made(request: pytest.FixtureRequest, full_report: Path) -> Made:
    """A small report that has it all, and the newest published one as this version renders it."""
    if request.param == "small":
        contents = read_contents(full_report)
    else:
        contents = judged_anew(newest_report())
    return Made(contents, render_contents(ROOT, contents))


def test_a_number_is_that_of_what_its_choice_shows(made: Made) -> None:
    told = made.told()
    assert len(told) > 4
    assert [
        (choice, number) for choice, number in told if len(made.fitting(choice)) != number
    ] == []


def test_the_line_of_a_claim_shows_the_verdict_that_counts(made: Made) -> None:
    contents = made.contents
    verdicts = contents.verdicts.verdicts
    rows: dict[str, list] = {}  # type: ignore[type-arg]
    for verdict in verdicts:
        rows.setdefault(verdict.claim, []).append(verdict)
    for each in outcomes(contents.catalog, verdicts):
        lead = lead_of(rows[each.lead.claim])
        if len({row.target for row in each.rows}) == 1 and lead.target == each.lead.target:
            assert lead is each.lead
        line = made.page.split(f'<tbody class="claim" id="{each.lead.claim}"')[1]
        assert f">{outcome(lead).word}</span>" in line.split('<tr class="more">')[0]


def test_groups_and_sources_add_up_to_the_headline(made: Made) -> None:
    numbers = Counter(
        token[2:] for _, tokens in made.facets() for token in tokens if token.startswith("k:")
    )
    groups, sources = made.page.split('<section id="sources">')
    heads = r"<h3>[^<]*</h3>(?: <span class=\"muted\">|\n<p [^>]*>)([^<:]*)"
    for kind, (one, many) in KINDS.items():
        for told in (" ".join(re.findall(heads, groups)), sources.split("</section>")[0]):
            found = re.findall(rf"(\d+) (?:{one}|{many})\b", told)
            assert sum(map(int, found)) == numbers[kind], kind
