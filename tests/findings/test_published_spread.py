"""What docs/statistics.md says of the spread between published reports is what they hold."""

import re
from pathlib import Path

import pytest

from assay.findings.card_spread import causes, other_runs, spreads
from assay.pipeline.other_runs import signed_figures
from assay.report.card_spread import spread_remarks
from assay.verification.trust import published_reports
from assay.verification.trusted_keys import trusted_keys

ROOT = Path(__file__).resolve().parents[2]
TOLD_UNTIL = "2026-11-23T21:59:59Z"
"""The reports that the text is about were signed by then."""


@pytest.fixture(scope="module")
def text() -> str:
    page = (ROOT / "docs" / "statistics.md").read_text()
    section = page.split("## Between cards and runs")[1].split("\n## ")[0]
    return " ".join(section.split())


@pytest.fixture(scope="module")
def found():
    every = list(signed_figures(published_reports(ROOT), trusted_keys(ROOT)))
    reports = [report for report in every if (report.created or "") <= TOLD_UNTIL]
    own = next(report for report in reports if report.run == "hopper_20261123_sources")
    return spreads(own, other_runs(own, reports)), reports


def test_figures_in_several_runs_and_those_apart(text: str, found) -> None:
    several, _ = found
    told = re.search(r"put for (\d+) figures in several runs. In (\d+) of them", text)
    figures, apart = told.groups()
    assert int(figures) == len(several)
    assert int(apart) == sum(spread.apart for spread in several.values())


def test_pairs_that_differ_in_the_card_alone(text: str, found) -> None:
    several, _ = found
    told = re.search(r"in the card alone lie ([\d.]+) % apart \(median\), at most ([\d.]+) %", text)
    card = next(cause for cause in causes(several.values()) if cause.differs == "card")
    assert [f"{100 * share:.1f}" for share in (card.typical, card.largest)] == list(told.groups())


def test_no_card_was_measured_twice(text: str, found) -> None:
    several, reports = found
    assert "No card was measured twice" in text
    assert "No card was measured twice" in " ".join(spread_remarks(several.values()))
    cards = {m.target: set() for report in reports for m in report.machines}
    for report in reports:
        for machine in report.machines:
            cards[machine.target].add(machine.gpu_uuid)
    assert "four H100 and nine H200 cards" in text
    assert {target: len(uuids) for target, uuids in cards.items()} == {"h100": 4, "h200": 9}


def test_the_short_kernel_that_it_names(text: str, found) -> None:
    several, _ = found
    spread = several["s001_fmha_cooperative_s1024", "h100"]
    values = sorted(each.measured for each in spread.observations)
    low, high, another = re.search(
        r"four runs from ([\d.]+) to ([\d.]+) TFLOP/s, one more within ([\d.]+) %", text
    ).groups()
    assert (low, high) == (f"{values[0]:.1f}", f"{values[-1]:.1f}")
    assert len(values) == 4
    assert another == f"{100 * spread.another:.1f}"
    absolute = [
        each.another
        for (_, target), each in several.items()
        if target == "h100" and each.unit not in ("ratio", "percent") and each.another is not None
    ]
    most, second, third, *_ = sorted(absolute, reverse=True)
    assert most == spread.another > 0.08 > second
    told = f"of the next it would lie within {100 * second:.1f} %, of all others within"
    assert f"{told} {100 * third:.1f} %" in text
