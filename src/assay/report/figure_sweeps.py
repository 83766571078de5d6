"""The picture of tuning sweeps: rates by configuration, one panel a sweep."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from assay.report.figure_style import MUTED, SERIES, STYLE, inline_svg

OURS, LIBRARY = SERIES[0], SERIES[1]
ROW, HEAD, FOOT = 0.25, 0.34, 0.3
"""Inches: a configuration's row, a panel's title above it, its axis below it."""
LABEL, NOTE = 0.075, 0.058
"""Inches that a letter of a row's label (bold) and of its note takes, generously."""
WRAP = 54
"""Letters of a note's line: two lines fit a row."""


@dataclass(frozen=True)
class Configuration:
    """One row of a panel: a rate in TFLOP/s with its interval."""

    label: str
    rate: float
    low: float
    high: float
    chosen: bool
    kernel: bool
    """False for a library: drawn as a line through the panel."""
    note: str
    """What stands at the right."""


@dataclass(frozen=True)
class Panel:
    """One sweep."""

    title: str
    rows: tuple[Configuration, ...]


def sweep_panels(panels: Sequence[Panel], name: str) -> str | None:
    """All sweeps below each other, each on its own axis; None where no kernel was measured."""
    drawn = [panel for panel in panels if any(row.kernel for row in panel.rows)]
    if not drawn:
        return None
    with mpl.rc_context(STYLE):
        width = 8.4
        height = sum(HEAD + FOOT + ROW * len(panel.rows) for panel in drawn) + 0.25
        figure = Figure(figsize=(width, height))
        rows = [row for panel in drawn for row in panel.rows]
        left = (0.25 + LABEL * max(len(row.label) for row in rows)) / width
        notes = (0.2 + NOTE * min(max(len(row.note) for row in rows), WRAP)) / width
        across = max(1 - left - notes, 0.25)
        top = height
        for panel in drawn:
            tall = ROW * len(panel.rows)
            top -= HEAD + tall
            axes = figure.add_axes((left, top / height, across, tall / height))
            _panel(axes, panel)
            top -= FOOT
        axes.set_xlabel("rate, TFLOP/s")
        return inline_svg(figure, name, "Rates of the configurations of every tuning sweep")


def _panel(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.title, loc="left", fontsize=8.5)
    axes.set_ylim(len(panel.rows) - 0.5, -0.5)
    for number, row in enumerate(panel.rows):
        colour = OURS if row.kernel else LIBRARY
        if not row.kernel:
            axes.axvline(row.rate, color=colour, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.plot((row.low, row.high), (number, number), color=colour, linewidth=1.6)
        axes.plot(
            row.rate,
            number,
            "D" if row.chosen else "o",
            color=colour,
            markersize=6.5 if row.chosen else 4.5,
            # A rival is hollow: the page's own ground shows through it.
            markerfacecolor=colour if row.chosen else "none",
        )
        axes.text(
            1.02,
            number,
            fill(row.note, WRAP),
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=7.5,
            linespacing=1.0,
        )
    axes.set_yticks(range(len(panel.rows)), [row.label for row in panel.rows])
    axes.tick_params(axis="y", length=0)
    for label, row in zip(axes.get_yticklabels(), panel.rows, strict=True):
        label.set_fontweight("bold" if row.chosen else "normal")
    axes.spines["left"].set_color(MUTED)
    low, high = min(row.low for row in panel.rows), max(row.high for row in panel.rows)
    margin = max(0.08 * (high - low), 0.01 * high)
    axes.set_xlim(max(low - margin, 0), high + margin)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.grid(axis="x")
    axes.set_axisbelow(True)
