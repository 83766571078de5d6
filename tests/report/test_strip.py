"""The strip of all figures: no dot hides another, each is a link, and the margins are drawn."""

import re
from itertools import combinations

from assay.records.verdicts import Status
from assay.report.figures.strip import DOT, NARROW, WIDE, Dot, Sheet, drawing
from assay.report.figures.svg import mark_of
from assay.report.verdict_text import Ratio

REPRODUCED = mark_of(Status.REPRODUCED)


def dot(place: int, value: float) -> Dot:
    ratio = Ratio(value, value, value)
    return Dot(f"#claim{place}", f"Claim {place}", "2 for 1", ratio, REPRODUCED)


def drawn(*dots: Dot, sheet: Sheet = WIDE) -> str:
    return drawing([("source 000", dots)], (0.08, 0.05), sheet)


def marks(svg: str) -> list[tuple[float, float]]:
    found = re.findall(r'<use href="#[\w-]+" x="([\d.]+)" y="([\d.]+)"/>', svg)
    return [(float(x), float(y)) for x, y in found]


def test_no_dot_hides_another() -> None:
    dots = [*(dot(n, 0.9 + 0.001 * n) for n in range(30)), dot(30, 3.0), dot(31, 0.2)]
    for sheet in (WIDE, NARROW):
        places = marks(drawn(*dots, sheet=sheet))
        assert len(places) == 32
        for (x, y), (other_x, other_y) in combinations(places, 2):
            assert abs(x - other_x) >= DOT or abs(y - other_y) >= DOT


def test_better_is_to_the_right_and_margins_lie_round_one() -> None:
    svg = drawn(dot(0, 0.5), dot(1, 2.0))
    (worse, _), (better, _) = marks(svg)
    bands = re.findall(r'<rect class="margin-(\w+)" x="([\d.]+)" [^>]*?width="([\d.]+)"', svg)
    (wide_at, wide), (narrow_at, narrow) = ((float(x), float(w)) for _, x, w in bands)
    assert [name for name, _, _ in bands] == ["wide", "narrow"]
    assert worse < wide_at < narrow_at < narrow_at + narrow < wide_at + wide < better
