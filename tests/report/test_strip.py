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
    return drawing([("source 000", dots)], {"wide": 0.08, "narrow": 0.05}, sheet)


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
