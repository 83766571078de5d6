"""The badge: what it says of a tally, and its bytes."""

import xml.etree.ElementTree as ET

from assay.records.verdicts import Status
from assay.report.badge import badge


def words(svg: str) -> list[str]:
    found = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [str(text.text) for text in found]


def test_what_was_not_run_is_not_counted():
    tally = {Status.REPRODUCED: 2, Status.EXCEEDED: 1, Status.NOT_REPRODUCED: 4, Status.NOT_RUN: 9}
    assert words(badge(tally)) == ["assay", "3 of 7 figures hold"]
    assert "9 not run" in badge(tally)
    assert words(badge({Status.EXCEEDED: 1})) == ["assay", "1 of 1 figure holds"]


def test_nothing_measured_is_said():
    assert words(badge({Status.NOT_RUN: 3})) == ["assay", "nothing measured"]


def test_the_colour_is_that_of_the_outcome():
    held, none = badge({Status.REPRODUCED: 1}), badge({Status.NOT_REPRODUCED: 1})
    assert Status.REPRODUCED.facts.light in held
    assert Status.NOT_REPRODUCED.facts.light in none


def test_an_unverified_report_has_no_counts():
    svg = badge({Status.REPRODUCED: 2}, vouched=False)
    assert words(svg) == ["assay", "unverified"]
    assert "reproduced" not in svg
