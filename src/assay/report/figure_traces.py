"""The picture of a run: SM clock, power and turn times, one below the other.

Written as SVG by hand: a report has one for each comparison, every one with the same three panels,
and a plotting library takes a quarter of a second for what is a few lines, dots and labels.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from matplotlib.ticker import MaxNLocator

from assay.records.verdicts import Status
from assay.report.figure_style import FONT, GRID, INK, MUTED, SERIES, themed

TITLE = "SM clock, power and launch times over time"
WIDTH, LEFT, RIGHT, TOP = 446.4, 58.0, 443.4, 5.0
"""In points, as are all lengths here; y grows downwards."""
HEIGHTS = (56.0, 56.0, 95.0)
GAP = 9.0
"""Between panels."""
LABEL_SIZE, LEGEND_SIZE = 8.5, 7.5
LETTER = 0.64
"""Width of a letter over the size of its font, generously."""
MARGIN = 0.05
"""Free on either side of the data, as a fraction of its range."""
DOT, LEGEND_DOT = 1.35, 2.2
"""Radii."""


@dataclass(frozen=True)
class TraceSeries:
    """Turns of one arm: middle of each turn in s, and its time over the arm's median."""

    label: str
    at_s: tuple[float, ...]
    relative_time: tuple[float, ...]


@dataclass(frozen=True)
class Traces:
    """Telemetry and turns of all processes of one comparison, on one time axis.

    ``segments`` holds, for each process, sample times in s, SM clock in MHz, power in W.
    """

    segments: tuple[tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]], ...]
    void_spans: tuple[tuple[float, float], ...]
    series: tuple[TraceSeries, ...]
    power_limit_w: float | None


@dataclass(frozen=True)
class Scale:
    """A straight line from values to points on the page."""

    low: float
    high: float
    start: float
    end: float
    """Where ``low`` and ``high`` lie."""

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, most: int) -> list[float]:
        """Return round values inside, about ``most`` of them."""
        found = MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(self.low, self.high)
        return [float(tick) for tick in found if self.low <= tick <= self.high]


@dataclass(frozen=True)
class TracePanel:
    """One of the three: what it is called, and where it lies."""

    label: tuple[str, ...]
    across: Scale
    up: Scale


def traces(data: Traces, name: str) -> str | None:
    """Return the picture as an inline SVG whose ids start with ``name``; None without samples."""
    if not data.segments and not data.series:
        return None
    clock, power, times = _panels(data)
    columns = _legend_columns(data.series)
    foot = times.up.start + 32
    height = foot + 11 * math.ceil(len(data.series) / columns) + 3
    parts = [
        f'<defs><circle id="{name}-0" r="{DOT}"/></defs>',
        *(part for panel in (clock, power, times) for part in _axes(panel, panel is times)),
        *(_line(clock, at, mhz, SERIES[0]) for at, mhz, _ in data.segments),
        *(_line(power, at, watts, SERIES[1]) for at, _, watts in data.segments),
    ]
    if data.power_limit_w is not None:
        y = _short(power.up(data.power_limit_w))
        parts.append(f'<path d="M{LEFT:g} {y}H{RIGHT:g}" {_stroke(MUTED, 0.7, "2.8 2.1")}/>')
    for number, series in enumerate(data.series):
        places = zip(map(times.across, series.at_s), map(times.up, series.relative_time),
                     strict=True)  # fmt: skip
        parts.append(_dots(name, number, places))
    for panel in (clock, power, times):
        parts += [_shade(panel, *span) for span in data.void_spans]
    parts += _legend(data.series, columns, foot)
    return (
        f'<svg role="img" aria-label="{TITLE}" class="figure" width="{WIDTH}pt" '
        f'height="{_short(height)}pt" viewBox="0 0 {WIDTH} {_short(height)}" version="1.1"> '
        f'<g style="font-family: {FONT}; font-size: {LABEL_SIZE}px; fill: {themed(INK)}">'
        f"{' '.join(parts)}</g></svg>"
    )


def _panels(data: Traces) -> Iterator[TracePanel]:
    """Yield clock, power and times on a common time axis."""
    across = _scale(
        [
            *(second for at, *_ in data.segments for second in at),
            *(second for series in data.series for second in series.at_s),
            *(second for span in data.void_spans for second in span),
        ],
        LEFT,
        RIGHT,
    )
    watts = [watt for *_, power in data.segments for watt in power]
    limit = [] if data.power_limit_w is None else [data.power_limit_w]
    shown = (
        (("SM clock", "MHz"), [mhz for _, clock, _ in data.segments for mhz in clock]),
        (("power", "W"), watts + limit),
        (("time / median",), [time for series in data.series for time in series.relative_time]),
    )
    top = TOP
    for (label, values), height in zip(shown, HEIGHTS, strict=True):
        yield TracePanel(label, across, _scale(values, top + height, top))
        top += height + GAP


def _scale(values: Sequence[float], start: float, end: float) -> Scale:
    """Return a scale that holds all values and a margin; from 0 to 1 without any."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    free = MARGIN * (high - low) or MARGIN * abs(high) or 1.0
    return Scale(low - free, high + free, start, end)


def _axes(panel: TracePanel, last: bool) -> Iterator[str]:
    """Yield grid, ticks and labels; the last panel has those of the time axis."""
    bottom, top = panel.up.start, panel.up.end
    values = panel.up.ticks(4)
    rows = [(_short(panel.up(tick)), text) for tick, text in _in_words(values)]
    yield f'<path d="{"".join(f"M{LEFT:g} {y}H{RIGHT:g}" for y, _ in rows)}" {_stroke(GRID, 0.6)}/>'
    seconds = [
        (_short(panel.across(tick)), text) for tick, text in _in_words(panel.across.ticks(8))
    ]
    marks = "".join(f"M{LEFT:g} {y}h-3.5" for y, _ in rows)
    marks += "".join(f"M{x} {bottom:g}v3.5" for x, _ in seconds)
    frame = f"M{LEFT:g} {top:g}V{bottom:g}H{RIGHT:g}"
    yield f'<path d="{frame}{marks}" {_stroke(MUTED, 0.7)}/>'
    for y, text in rows:
        yield _text(LEFT - 6, float(y) + 3, text, "end")
    for number, text in enumerate(panel.label):
        x = LEFT - 35 + 10.2 * (number - len(panel.label) + 1)
        yield _text(x, (top + bottom) / 2, text, "middle", turned=True)
    if last:
        for place, text in seconds:
            yield _text(float(place), bottom + 12, text, "middle")
        middle = (LEFT + RIGHT) / 2
        yield _text(middle, bottom + 25, "time in all processes, end to end, s", "middle")


def _in_words(ticks: Sequence[float]) -> list[tuple[float, str]]:
    """Return ticks with as many decimals as tell them apart."""
    step = min((high - low for low, high in pairwise(ticks)), default=1.0)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(tick, f"{tick:.{decimals}f}") for tick in ticks]


def _line(panel: TracePanel, at: Sequence[float], values: Sequence[float], colour: str) -> str:
    """Return samples joined by a line; of equal ones in a row the first and the last."""
    ys = [_short(panel.up(value)) for value in values]
    kept = [
        f"{_short(panel.across(second))} {y}"
        for before, second, y, after in zip(["", *ys], at, ys, [*ys[1:], ""], strict=False)
        if not before == y == after
    ]
    return f'<path d="M{" ".join(kept)}" {_stroke(colour, 0.9)}/>'


def _dots(name: str, number: int, places: Iterable[tuple[float, float]]) -> str:
    """Return dots in the colour of the series of that number."""
    every = "".join(f'<use href="#{name}-0" x="{_short(x)}" y="{_short(y)}"/>' for x, y in places)
    return f'<g style="fill: {_colour(number)}">{every}</g>'


def _colour(number: int) -> str:
    return themed(SERIES[number % len(SERIES)])


def _shade(panel: TracePanel, start: float, end: float) -> str:
    """Return the marking of a discarded block."""
    x, until = panel.across(start), panel.across(end)
    return (
        f'<rect x="{_short(x)}" y="{panel.up.end:g}" width="{_short(until - x)}" '
        f'height="{panel.up.start - panel.up.end:g}" '
        f'style="fill: {themed(Status.NOT_REPRODUCED.facts.light)}; fill-opacity: 0.15"/>'
    )


def _legend_columns(series: Sequence[TraceSeries]) -> int:
    """Return how many entries stand side by side: four, or as many as the longest leaves room."""
    longest = max((len(one.label) for one in series), default=0)
    return max(1, min(4, int((RIGHT - LEFT) / (12 + LETTER * LEGEND_SIZE * longest))))


def _legend(series: Sequence[TraceSeries], columns: int, top: float) -> Iterator[str]:
    """Yield a dot and a name for each series, row by row."""
    for number, one in enumerate(series):
        row, column = divmod(number, columns)
        x = LEFT + column * (RIGHT - LEFT) / columns
        y = top + 11 * row + 6
        yield (
            f'<circle cx="{_short(x + 3)}" cy="{_short(y - 2.6)}" r="{LEGEND_DOT}" '
            f'style="fill: {_colour(number)}"/>'
        )
        yield _text(x + 8, y, one.label, "start", LEGEND_SIZE)


def _text(
    x: float, y: float, text: str, anchor: str, size: float | None = None, turned: bool = False
) -> str:
    place = f'x="{_short(x)}" y="{_short(y)}"'
    if turned:
        place = f'transform="translate({_short(x)} {_short(y)}) rotate(-90)"'
    style = f"text-anchor: {anchor}" + (f"; font-size: {size:g}px" if size else "")
    return f'<text {place} style="{style}">{escape(text)}</text>'


def _stroke(colour: str, width: float, dashes: str | None = None) -> str:
    dashed = f"; stroke-dasharray: {dashes}" if dashes else ""
    return f'style="fill: none; stroke: {themed(colour)}; stroke-width: {width:g}{dashed}"'


def _short(value: float) -> str:
    """Return a coordinate to a hundredth of a point."""
    return f"{value:.2f}"
