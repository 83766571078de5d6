"""The picture of where a run's time went: stages as rows, their steps along one axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from assay.report.figure_style import MUTED, SERIES, STYLE, inline_svg

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
    with mpl.rc_context(STYLE):
        width, height = 8.4, 0.75 + 0.3 * len(rows)
        figure = Figure(figsize=(width, height))
        left = (0.25 + 0.068 * max(len(row.label) for row in rows)) / width
        axes = figure.add_axes((left, 0.5 / height, 0.72 - left, 1 - 0.6 / height))
        axes.set_xlim(0, length)
        axes.set_ylim(len(rows) - 0.45, -0.55)
        for number, row in enumerate(rows):
            _bars(axes, number, row)
            axes.text(
                1.02,
                number,
                row.note,
                transform=axes.get_yaxis_transform(),
                va="center",
                fontsize=8,
            )
        for at in cuts:
            axes.axvline(at, color=MUTED, linewidth=0.7, linestyle=(0, (4, 3)))
        axes.set_yticks(range(len(rows)), [row.label for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        _time_axis(axes, length)
        return inline_svg(figure, name, "Where the time went: the steps of every stage")


def _bars(axes: Axes, number: int, row: StageRow) -> None:
    """The bars of one row, each lane as high as their number allows."""
    lanes = 1 + max(bar.lane for bar in row.bars)
    height = 0.72 / lanes
    for bar in row.bars:
        top = number - 0.36 + bar.lane * height
        colour = ON_GPU if bar.on_gpu else HOST
        part = 1.0 if bar.share is None else min(1.0, bar.share)
        # An edge of the bar's own colour keeps steps visible that are shorter than a pixel.
        look = {"color": colour, "linewidth": 0.4, "edgecolor": colour}
        across = bar.end - bar.start
        if part < 1:
            axes.barh(top, across, height * 0.9, bar.start, align="edge", alpha=PALE, **look)
        drawn = height * 0.9 * part
        axes.barh(top + height * 0.9 - drawn, across, drawn, bar.start, align="edge", **look)


def _time_axis(axes: Axes, length: float) -> None:
    """At most ten ticks, on numbers of seconds or minutes that a reader counts in."""
    minutes = length > MINUTES_FROM_S
    unit = 60.0 if minutes else 1.0
    tenth = length / unit / 10
    step = next((step for step in TICKS if step >= tenth), TICKS[-1] * math.ceil(tenth / TICKS[-1]))
    axes.xaxis.set_major_locator(MultipleLocator(step * unit))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / unit:g}"))
    axes.set_xlabel("time on the clock, min" if minutes else "time on the clock, s")
