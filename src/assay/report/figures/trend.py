"""The picture of one claim over time: each measurement and its interval, beside what is claimed.

Measurements stand in their order, at equal distances: they come in bursts, and a true scale of time
would draw each burst as one dot.
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from assay.records.verdicts import Status
from assay.report.figures import svg
from assay.report.figures.svg import PLAIN, Scale, in_words, line, marked, short, stroke, text_at

WIDTH, LEFT, TOP, HEIGHT = 640.0, 62.0, 12.0, 170.0  # in points; y grows downwards
RIGHT = 60.0  # free behind the last measurement, for the names of lines
LABELS = 8  # dates that stand below, at most


class TrendPoint(NamedTuple):
    """One measurement."""

    target: str
    question: str | None
    """Digest of what was measured: a line joins what is comparable."""
    value: float
    interval: tuple[float, float]
    """90 %; twice the value where there is none."""
    status: Status
    hollow: bool
    """Of another GPU than the source names."""
    day: str
    commit: str
    """That measured, in short; empty where nobody says."""
    words: str


def trend(points: Sequence[TrendPoint], claimed: float | None, unit: str) -> str:
    """Return the picture of measurements in their order; ``unit``: of all values.

    ``claimed``: None where the source prints no number in that unit.
    """
    values = [value for point in points for value in (point.value, *point.interval)]
    up = svg.scale_of([*values, *([] if claimed is None else [claimed])], TOP + HEIGHT, TOP)
    across = Scale(-0.5, len(points) - 0.5, LEFT, WIDTH - RIGHT)
    rows = [(short(up(tick)), text) for tick, text in in_words(up.ticks(5))]
    grid = "".join(f"M{LEFT:g} {y}H{WIDTH - RIGHT:g}" for y, _ in rows)
    parts = [f'<path d="{grid}" {stroke(svg.GRID, 0.6)}/>']
    parts += [text_at(LEFT - 6, float(y) + 3, text, "end") for y, text in rows]
    parts.append(text_at(LEFT - 48, TOP + HEIGHT / 2, unit, "middle", turned=True))
    if claimed is not None:
        ends = [(LEFT, up(claimed)), (WIDTH - RIGHT, up(claimed))]
        parts.append(line(ends, svg.INK, 1.0, svg.DASHES))
        parts.append(text_at(WIDTH - RIGHT + 5, up(claimed) + 3, "claimed", "start"))
    series: dict[str, dict[str | None, list[tuple[float, float]]]] = {}
    for at, point in enumerate(points):
        of = series.setdefault(point.target, {}).setdefault(point.question, [])
        of.append((across(at), up(point.value)))
    for number, target in enumerate(sorted(series)):
        colour = svg.SERIES[number % len(svg.SERIES)]
        parts += [line(of, colour, 0.8) for of in series[target].values()]
        x, y = max(of[-1] for of in series[target].values())
        parts.append(text_at(x + 8, y - 6, target, "start", 7.5))
    parts += [_drawn(point, across(at), up) for at, point in enumerate(points)]
    step = -(-len(points) // LABELS)
    for at, point in enumerate(points[::step]):
        below = TOP + HEIGHT + 14, TOP + HEIGHT + 24
        for y, text in zip(below, (point.day, point.commit), strict=True):
            parts.append(text_at(across(at * step), y, text, "middle", 7))
    return svg.inline_svg("Measured figures over time", WIDTH, TOP + HEIGHT + 30, parts)


def _drawn(point: TrendPoint, x: float, up: Scale) -> str:
    facts, (low, high) = point.status.facts, point.interval
    colour, shape = facts.light if facts.mark else svg.MUTED, facts.mark or PLAIN[facts.badge]
    return (
        f"<g><title>{escape(point.words)}</title>{line([(x, up(low)), (x, up(high))], colour, 1.6)}"
        f"{marked(x, up(point.value), shape, 7, colour, hollow=point.hollow)}</g>"
    )
