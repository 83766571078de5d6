"""The picture of where a run's time went: stages as rows, their steps along one axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.report.figure_style import MUTED, SERIES, themed
from assay.report.svg import DASHES, INCH, Drawing, Scale, short, text_at

HOST, ON_GPU = SERIES[0], SERIES[1]
PALE = 0.4
"""Opacity of a bar of which the GPU was kept busy in a part only."""
MINUTES_FROM_S = 300.0
"""Axes longer than this count minutes."""
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600)


@dataclass(frozen=True)
class StepBar:
    """One step: from where to where on the axis (s), in which lane of its row."""

    start: float
    end: float
    lane: int
    on_gpu: bool
    share: float | None
    """The part of it in which a process kept the GPU busy, 0 to 1; None where not known."""


@dataclass(frozen=True)
class StageRow:
    """One stage and what stands beside its bars."""

    label: str
    note: str
    bars: tuple[StepBar, ...]


def where_the_time_went(
    rows: Sequence[StageRow], length: float, cuts: Sequence[float], name: str
) -> str | None:
    """Steps as bars over ``length`` seconds, pauses cut at ``cuts``; None without a step."""
    if not rows or length <= 0:
        return None
    width, height = 8.4 * INCH, (0.75 + 0.3 * len(rows)) * INCH
    left = (0.25 + 0.068 * max(len(row.label) for row in rows)) * INCH
    across = Scale(0, length, left, 0.72 * width)
    up = Scale(-0.55, len(rows) - 0.45, 0.1 * INCH, height - 0.5 * INCH)
    drawing = Drawing(name, "Where the time went: the steps of every stage", width, height)
    step, unit, title = _time_axis(length)
    ticks = [(tick, f"{tick / unit:g}") for tick in across.multiples(step)]
    drawing.axis_below(across, ticks, up.start, up.end)
    for number, row in enumerate(rows):
        _bars(drawing, number, row, across, up)
        drawing.beside(left - 3.5, up(number), row.label, "end")
        drawing.beside(across.end + 0.02 * (across.end - left), up(number), row.note, "start", 8)
    for at in cuts:
        drawing.line([(across(at), up.start), (across(at), up.end)], MUTED, 0.7, DASHES)
    drawing.add(text_at((left + across.end) / 2, up.end + 27, title, "middle"))
    return drawing.svg()


def _bars(drawing: Drawing, number: int, row: StageRow, across: Scale, up: Scale) -> None:
    """Draw the bars of one row, each lane as high as their number allows; alike ones as one."""
    lanes = 1 + max(bar.lane for bar in row.bars)
    whole = 0.9 * (up(0.72 / lanes) - up(0))
    alike: dict[tuple[float, str], list[str]] = {}
    for bar in row.bars:
        colour = ON_GPU if bar.on_gpu else HOST
        part = 1.0 if bar.share is None else min(1.0, bar.share)
        x, until = across(bar.start), across(bar.end)
        top = up(number - 0.36 + bar.lane * 0.72 / lanes)
        for opacity, high in ((PALE, whole), (1.0, part * whole)):
            if opacity == 1 or part < 1:
                outline = (
                    f"M{short(x)} {short(top + whole)}h{short(until - x)}v-{short(high)}"
                    f"h-{short(until - x)}z"
                )
                alike.setdefault((opacity, colour), []).append(outline)
    for (opacity, colour), outlines in sorted(alike.items()):
        # An edge of the bar's own colour keeps steps visible that are shorter than a pixel.
        look = f"fill: {themed(colour)}; stroke: {themed(colour)}; stroke-width: 0.4"
        pale = f"; opacity: {opacity:g}" if opacity < 1 else ""
        drawing.add(f'<path d="{"".join(outlines)}" style="{look}{pale}"/>')


def _time_axis(length: float) -> tuple[float, float, str]:
    """Return the step between ticks and the unit that a reader counts in, in s, and its title.

    At most ten steps, of round numbers.
    """
    minutes = length > MINUTES_FROM_S
    unit = 60.0 if minutes else 1.0
    tenth = length / unit / 10
    step = next((step for step in TICKS if step >= tenth), TICKS[-1] * math.ceil(tenth / TICKS[-1]))
    return step * unit, unit, "time on the clock, min" if minutes else "time on the clock, s"
