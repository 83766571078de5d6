"""What a badge, a headline and a list of reports say of the same counts."""

import xml.etree.ElementTree as ET

import pytest

from assay.findings.headline import counts_of
from assay.records.report_figures import OutcomeCounts
from assay.records.verdicts import Status
from assay.report.counts import with_another
from assay.report.first_screen import NONE_THERE, conclusion
from assay.report.quoted_report import badge, badge_words, outcome_lines
from tests.findings.short_reports import figure, machine, report


def of(away: dict[Status, int] | None = None, **statuses: int) -> dict[str, OutcomeCounts]:
    found = {Status(name): count for name, count in statuses.items()}
    return {"figures": OutcomeCounts(statuses=found, away=away or {})}


def words(svg: str) -> list[str]:
    found = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [str(text.text) for text in found]


def test_every_figure_is_counted_and_what_exceeds_is_no_reproduction():
    svg = badge(of(reproduced=2, exceeded=1, not_reproduced=4, not_run=9))
    assert words(svg) == ["assay", "2 of 16 figures reproduced, 1 exceeded"]
    assert (
        "16 published speed figures: 2 reproduced, 1 exceeded, 4 not reproduced, 9 not run" in svg
    )


def test_what_was_measured_on_another_gpu_is_said():
    away = {Status.REPRODUCED: 3, Status.EXCEEDED: 1}
    counts = of(away, reproduced=5, exceeded=1, misstated=1)
    assert words(badge(counts)) == ["assay", "2 of 7 figures reproduced, 4 on another GPU"]
    assert badge_words(counts) == (
        "7 published speed figures: 2 reproduced, 1 misstated, "
        "4 on another GPU (would be 3 reproduced, 1 exceeded)"
    )


def test_the_conclusion_counts_what_ran_on_the_gpu_that_is_named():
    away = {Status.REPRODUCED: 2, Status.NOT_REPRODUCED: 1}
    counts = counts_of([]) | of(away, reproduced=3, not_reproduced=1, inconclusive=1)
    assert conclusion(counts).startswith("1 of 2 ")
    assert (
        conclusion(counts_of([]) | of(away, **{s.value: n for s, n in away.items()})) == NONE_THERE
    )


def test_a_claim_that_counts_with_another_is_counted():
    found = report("run1", machine("card", "2026-11-21"), figure(1.0), figure(1.0, claim="other"))
    found = found.model_copy(update={"counts": of(reproduced=1)})
    assert outcome_lines(found)[-1] == with_another(1)


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        (of(reproduced=1, exceeded=1), Status.REPRODUCED),
        (of({Status.REPRODUCED: 1}, reproduced=2), Status.INCONCLUSIVE),
        (of(reproduced=2, not_run=1), Status.INCONCLUSIVE),
        (of(not_reproduced=1, not_run=1), Status.NOT_REPRODUCED),
        (of(not_run=1), Status.NOT_RUN),
        (of(), Status.NOT_RUN),
    ],
)
def test_the_colour_is_that_of_the_outcome(counts: dict[str, OutcomeCounts], state: Status):
    assert state.facts.light in badge(counts)
