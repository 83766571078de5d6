"""The strip of all figures: no dot hides another, each is a link, and the margins are drawn."""

import re
import textwrap
from dataclasses import replace
from html import unescape
from itertools import combinations

import pytest

from assay.records.verdicts import Status
from assay.report.marks import mark_of
from assay.report.ratios import Ratio
from assay.report.strip import (
    AXIS,
    DOT,
    LETTERS,
    LETTERS_ABOVE,
    STROKE,
    TURNED,
    Dot,
    Lane,
    Strip,
    strip,
)

REPRODUCED = mark_of(Status.REPRODUCED)


def dot(place: int, value: float, low: float | None = None, high: float | None = None) -> Dot:
    ratio = Ratio(value, value if low is None else low, value if high is None else high)
    return Dot(f"#claim{place}", f"Claim {place}", "2 for 1", ratio, REPRODUCED)


def drawn(*dots: Dot) -> Strip:
    made = strip([Lane("source 000", dots)], (0.08, 0.05), [(REPRODUCED, "reproduced")])
    assert made is not None
    return made


def marks(svg: str) -> list[tuple[float, float]]:
    """Return where the marks stand."""
    found = re.findall(r'<use href="#[\w-]+" x="([\d.]+)" y="([\d.]+)"/>', svg)
    return [(float(x), float(y)) for x, y in found]


def test_no_dot_hides_another() -> None:
    made = drawn(*(dot(n, 0.9 + 0.001 * n) for n in range(30)), dot(30, 3.0), dot(31, 0.2))
    for svg in (made.wide, made.narrow):
        places = marks(svg)
        assert len(places) == 32
        for (x, y), (other_x, other_y) in combinations(places, 2):
            assert abs(x - other_x) >= DOT or abs(y - other_y) >= DOT


def test_no_interval_runs_through_a_neighbour() -> None:
    made = drawn(dot(0, 0.5, 0.3, 0.9), dot(1, 0.8))
    (_, first), (_, second) = sorted(marks(made.wide))
    assert first != second
    made = drawn(dot(0, 0.5), dot(1, 0.8))
    assert len({y for _, y in marks(made.wide)}) == 1


@pytest.mark.parametrize("drawing", ["wide", "narrow"])
def test_each_dot_is_a_link_that_says_what_it_is(drawing: str) -> None:
    svg = getattr(drawn(dot(0, 0.5), dot(1, 2.0)), drawing)
    for place in (0, 1):
        assert svg.count(f'<a href="#claim{place}"') == 1
        assert f"Claim {place}" in svg


def test_better_is_to_the_right_and_margins_lie_round_one() -> None:
    svg = drawn(dot(0, 0.5), dot(1, 2.0)).wide
    (worse, _), (better, _) = marks(svg)
    bands = re.findall(r'<rect class="margin-(\w+)" x="([\d.]+)" [^>]*?width="([\d.]+)"', svg)
    (wide_at, wide), (narrow_at, narrow) = ((float(x), float(w)) for _, x, w in bands)
    assert [name for name, _, _ in bands] == ["wide", "narrow"]
    assert worse < wide_at < narrow_at < narrow_at + narrow < wide_at + wide < better


@pytest.mark.parametrize("drawing", ["wide", "narrow"])
def test_a_bound_has_a_stroke_beside_its_mark_and_nothing_else_has(drawing: str) -> None:
    made = drawn(dot(0, 0.5), replace(dot(1, 2.0), bound=True))
    assert made.bounds
    exact, bound = getattr(made, drawing).split('<a href="#claim')[1:]
    assert '<path class="bound"' not in exact
    (_, (x, _)) = marks(getattr(made, drawing))
    at = re.search(r'<path class="bound" d="M([\d.]+)', bound)
    assert at and x - STROKE - 1 < float(at[1]) < x - DOT / 2
    assert not drawn(dot(0, 0.5)).bounds


def test_a_lane_is_called_by_its_sources_title() -> None:
    title = "000: A document whose title is so long that no single line has any room for it at all"
    made = strip([Lane(title, (dot(0, 0.5),))], (0.08, 0.05), [(REPRODUCED, "reproduced")])
    assert made is not None
    wide, narrow = (
        re.findall(r'class="lane-label">([^<]*)', svg) for svg in (made.wide, made.narrow)
    )
    assert [len(line) <= LETTERS for line in wide] == [True, True]
    assert " ".join(wide).startswith("000: A document whose title is so long that no single")
    assert wide[1].endswith(" …") and narrow == [
        textwrap.shorten(title, LETTERS_ABOVE, placeholder=" …")
    ]


def test_nothing_measured_draws_nothing() -> None:
    assert strip([Lane("source 000", ())], (0.08, 0.05), []) is None


@pytest.mark.parametrize(("drawing", "words"), [("wide", f"{AXIS}; {TURNED}"), ("narrow", AXIS)])
def test_the_axis_says_which_figures_are_the_other_way_round_and_has_room_for_it(
    drawing: str, words: str
) -> None:
    svg = getattr(drawn(dot(0, 0.5)), drawing)
    texts = re.findall(r'<text x="[\d.]+" y="([\d.]+)" [^>]*>([^<]*)</text>', svg)
    first = next(n for n, (_, line) in enumerate(texts) if line.startswith("measured ÷ claimed"))
    lines = texts[first:]
    assert unescape(" ".join(line for _, line in lines)) == words
    height = re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', svg)
    assert height and float(height[1]) > max(float(y) for y, _ in lines)


def test_what_is_said_to_be_the_same_is_told_of_its_mark_and_counted() -> None:
    made = drawn(dot(0, 0.5), replace(dot(1, 2.0), alike=True))
    said = "2 for 1; said to be the same, so that neither side is ahead</title>"
    assert made.wide.count(said) == made.alike == 1
    assert drawn(dot(0, 0.5)).alike == 0


def test_a_ratio_right_of_one_that_its_parts_make_fail_is_told_and_counted() -> None:
    made = drawn(dot(0, 0.5), replace(dot(1, 2.0), by_parts=True))
    said = "2 for 1; not reproduced because a figure of the two is not</title>"
    assert made.wide.count(said) == made.by_parts == 1
    assert drawn(dot(0, 0.5)).by_parts == 0
