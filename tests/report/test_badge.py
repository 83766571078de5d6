"""The badge: what it says of a headline, and its bytes."""

import xml.etree.ElementTree as ET

import pytest

from assay.records.report_figures import HeadlineCounts
from assay.records.verdicts import Status
from assay.report.badge import badge, badge_words


def of(elsewhere: int = 0, *, own: bool = False, **statuses: int) -> HeadlineCounts:
    return HeadlineCounts(
        own=own,
        statuses={Status(name): count for name, count in statuses.items()},
        elsewhere=elsewhere,
    )


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
    counts = of(3, reproduced=5, misstated=1)
    assert words(badge(counts)) == ["assay", "5 of 6 figures reproduced, 3 on another GPU"]
    assert badge_words(counts).endswith(
        "; 3 of them were measured on another GPU than the source names, and count by what it "
        "would be there"
    )


def test_a_projects_own_figures_are_called_so():
    assert badge_words(of(own=True, exceeded=1)) == "1 figure that this project states: 1 exceeded"


def test_nothing_measured_is_said():
    assert words(badge(of(not_run=3))) == ["assay", "nothing measured"]
    assert words(badge(of())) == ["assay", "nothing measured"]


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        (of(reproduced=1, exceeded=1), Status.REPRODUCED),
        (of(1, reproduced=2), Status.INCONCLUSIVE),
        (of(reproduced=2, not_run=1), Status.INCONCLUSIVE),
        (of(not_reproduced=1, not_run=1), Status.NOT_REPRODUCED),
        (of(not_run=1), Status.NOT_RUN),
    ],
)
def test_the_colour_is_that_of_the_outcome(counts: HeadlineCounts, state: Status):
    assert state.facts.light in badge(counts)


def test_an_unverified_report_has_no_counts():
    svg = badge(None)
    assert words(svg) == ["assay", "unverified"]
    assert "reproduced" not in svg
