"""The report's pictures: plain data in, an inline SVG out; without data, no picture."""

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from assay.records.verdicts import Status
from assay.report.figure_style import (
    BAND,
    INK,
    MUTED,
    SERIES,
    STYLE,
    inline_svg,
)


@dataclass(frozen=True)
class ClaimPoint:
    """One row of a claimed-against-measured figure; all numbers are measured over claimed."""

    label: str
    ratio: float
    low: float
    high: float
    band_low: float | None
    band_high: float | None
    """Edges of the margin; None where it is open ("at least", "at most")."""
    status: Status
    note: str


@dataclass(frozen=True)
class RooflinePoint:
    """One arm: intensity in FLOP/byte, rate in TFLOP/s."""

    label: str
    intensity: float
    rate: float
    ours: bool


@dataclass(frozen=True)
class SweepPoint:
    """A rate in TFLOP/s at one tile depth BK, with its interval where it was measured."""

    bk: int
    rate: float
    low: float
    high: float


def claimed_against_measured(points: Sequence[ClaimPoint], name: str) -> str | None:
    """Measured over claimed with its interval, one row a claim; None without a measured claim."""
    if not points:
        return None
    with mpl.rc_context(STYLE):
        height = 0.75 + 0.27 * len(points)
        width = 8.4
        left = (0.2 + 0.068 * max(len(point.label) for point in points)) / width
        figure = Figure(figsize=(width, height))
        axes = figure.add_axes((left, 0.5 / height, 0.73 - left, 1 - 0.7 / height))
        low, high = _ratio_limits(points)
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        axes.set_ylim(len(points) - 0.4, -0.6)
        axes.axvline(1, color=INK, linewidth=0.9)
        for row, point in enumerate(points):
            lower = low if point.band_low is None else point.band_low
            upper = high if point.band_high is None else point.band_high
            axes.add_patch(
                Rectangle((lower, row - 0.36), upper - lower, 0.72, color=BAND, linewidth=0)
            )
            facts = point.status.facts
            colour = facts.light if facts.mark else MUTED
            axes.plot((point.low, point.high), (row, row), color=colour, linewidth=1.6)
            axes.plot(point.ratio, row, facts.mark or "s", color=colour, markersize=5)
            axes.text(
                1.02,
                row,
                point.note,
                transform=axes.get_yaxis_transform(),
                va="center",
                fontsize=8,
            )
        axes.set_yticks(range(len(points)), [point.label for point in points])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        _ratio_ticks(axes, low, high)
        axes.set_xlabel("measured / claimed (shaded: margin)")
        return inline_svg(figure, name, "Measured over claimed figures with confidence intervals")


def _ratio_limits(points: Sequence[ClaimPoint]) -> tuple[float, float]:
    values = [v for p in points for v in (p.low, p.high, p.ratio, p.band_low, p.band_high)]
    positive = [value for value in values if value is not None and value > 0]
    return min(*positive, 0.8) / 1.08, max(*positive, 1.25) * 1.08


def _ratio_ticks(axes: Axes, low: float, high: float) -> None:
    """Ticks a reader can name: finer ones where all ratios lie near 1."""
    if high / low < 4:
        candidates = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5]
    elif high / low < 60:
        candidates = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    else:
        candidates = [10.0**power for power in range(-6, 7)]
    axes.set_xticks([tick for tick in candidates if low <= tick <= high])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def roofline(
    points: Sequence[RooflinePoint], peak_tflop_per_s: float, memory_gb_per_s: float, name: str
) -> str | None:
    """Rates against arithmetic intensity below the datasheet's ceilings; None without a point."""
    if not points:
        return None
    with mpl.rc_context(STYLE):
        height = max(3.6, 0.5 + 0.19 * len(points))
        figure = Figure(figsize=(8.4, height))
        axes = figure.add_axes((0.08, 0.45 / height, 0.55, 0.97 - 0.45 / height))
        slope = memory_gb_per_s / 1000
        ridge = peak_tflop_per_s / slope
        low = min(*(point.intensity for point in points), ridge) / 2
        high = max(*(point.intensity for point in points), ridge) * 2
        floor = min(*(point.rate for point in points), low * slope) / 1.6
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(low, high)
        axes.set_ylim(floor, peak_tflop_per_s * 1.7)
        axes.plot(
            (low, ridge, high),
            (low * slope, peak_tflop_per_s, peak_tflop_per_s),
            color=INK,
            linewidth=1.3,
        )
        axes.annotate(
            f"{peak_tflop_per_s:g} TFLOP/s tensor peak",
            (high, peak_tflop_per_s),
            xytext=(-2, 4),
            textcoords="offset points",
            ha="right",
            fontsize=8,
        )
        axes.annotate(
            f"{memory_gb_per_s:g} GB/s",
            (low, low * slope),
            xytext=(6, -3),
            textcoords="offset points",
            va="top",
            fontsize=8,
        )
        _label_points(axes, points)
        axes.grid(which="major")
        axes.set_axisbelow(True)
        axes.set_xticks(_log_ticks(*axes.get_xlim()))
        axes.set_yticks(_log_ticks(*axes.get_ylim()))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("arithmetic intensity, FLOP/byte")
        axes.set_ylabel("rate, TFLOP/s")
        return inline_svg(figure, name, "Roofline: measured rates below the datasheet's ceilings")


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten; powers alone over more than two decades."""
    steps = (1, 2, 5) if high / low < 100 else (1,)
    every = [step * 10.0**power for power in range(-4, 7) for step in steps]
    return [tick for tick in every if low <= tick <= high]


def _label_points(axes: Axes, points: Sequence[RooflinePoint]) -> None:
    """Points with their names in a column to the right, in order of height, joined by leaders."""
    ordered = sorted(points, key=lambda point: -point.rate)
    in_axes = axes.transData + axes.transAxes.inverted()
    leaders = []
    for number, point in enumerate(ordered):
        colour = SERIES[0] if point.ours else SERIES[1]
        height = 1 - (number + 0.5) / len(ordered)
        place = in_axes.transform((point.intensity, point.rate))
        leaders.append(np.array((place, (1.035, height))))
        axes.plot(
            point.intensity, point.rate, "o" if point.ours else "s", color=colour, markersize=4.5
        )
        axes.text(
            1.04,
            height,
            point.label,
            transform=axes.transAxes,
            va="center",
            fontsize=7.5,
            color=colour,
        )
    axes.add_collection(
        LineCollection(
            leaders,
            colors=MUTED,
            linewidths=0.35,
            transform=axes.transAxes,
            clip_on=False,
            zorder=1.9,
        ),
        autolim=False,
    )


def bk_sweep(
    measured: Sequence[SweepPoint], published: Sequence[tuple[int, float]], name: str
) -> str | None:
    """Rate against tile depth, measured and published; None when nothing was measured."""
    if not measured:
        return None
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.0), layout="constrained")
        axes = figure.add_subplot()
        depths = [point.bk for point in measured]
        rates = [point.rate for point in measured]
        below = [max(point.rate - point.low, 0.0) for point in measured]
        above = [max(point.high - point.rate, 0.0) for point in measured]
        axes.errorbar(
            depths,
            rates,
            (below, above),
            marker="o",
            markersize=4.5,
            color=SERIES[0],
            linewidth=1.2,
            label="measured",
        )
        if published:
            axes.plot(
                [bk for bk, _ in published],
                [rate for _, rate in published],
                "D",
                color=SERIES[1],
                markersize=5,
                label="published",
            )
        axes.set_ylim(bottom=0)
        axes.set_xticks(sorted({*depths, *(bk for bk, _ in published)}))
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        axes.set_xlabel("tile depth BK")
        axes.set_ylabel("rate, TFLOP/s")
        axes.legend(frameon=False)
        return inline_svg(figure, name, "Rate against tile depth BK, measured and published")
