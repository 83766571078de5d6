"""The picture of a run: SM clock, power and turn times, one below the other."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.records.verdicts import Status
from assay.report.figure_style import GRID, MUTED, SERIES, themed
from assay.report.svg import DASHES, Scale, in_words, inline_svg, scale_of, short, stroke, text_at

TITLE = "SM clock, power and launch times over time"
WIDTH, LEFT, RIGHT, TOP = 446.4, 58.0, 443.4, 5.0
"""In points, as are all lengths here; y grows downwards."""
HEIGHTS = (56.0, 56.0, 95.0)
GAP = 9.0
"""Between panels."""
LEGEND_SIZE = 7.5
LETTER = 0.64
"""Width of a letter over the size of its font, generously."""
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
        y = short(power.up(data.power_limit_w))
        parts.append(f'<path d="M{LEFT:g} {y}H{RIGHT:g}" {stroke(MUTED, 0.7, DASHES)}/>')
    for number, series in enumerate(data.series):
        places = zip(map(times.across, series.at_s), map(times.up, series.relative_time),
                     strict=True)  # fmt: skip
        parts.append(_dots(name, number, places))
    for panel in (clock, power, times):
        parts += [_shade(panel, *span) for span in data.void_spans]
    parts += _legend(data.series, columns, foot)
    return inline_svg(TITLE, WIDTH, height, parts)


def _panels(data: Traces) -> Iterator[TracePanel]:
    """Yield clock, power and times on a common time axis."""
    across = scale_of(
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
        yield TracePanel(label, across, scale_of(values, top + height, top))
        top += height + GAP


def _axes(panel: TracePanel, last: bool) -> Iterator[str]:
    """Yield grid, ticks and labels; the last panel has those of the time axis."""
    bottom, top = panel.up.start, panel.up.end
    values = panel.up.ticks(4)
    rows = [(short(panel.up(tick)), text) for tick, text in in_words(values)]
    yield f'<path d="{"".join(f"M{LEFT:g} {y}H{RIGHT:g}" for y, _ in rows)}" {stroke(GRID, 0.6)}/>'
    seconds = [(short(panel.across(tick)), text) for tick, text in in_words(panel.across.ticks(8))]
    marks = "".join(f"M{LEFT:g} {y}h-3.5" for y, _ in rows)
    marks += "".join(f"M{x} {bottom:g}v3.5" for x, _ in seconds)
    frame = f"M{LEFT:g} {top:g}V{bottom:g}H{RIGHT:g}"
    yield f'<path d="{frame}{marks}" {stroke(MUTED, 0.7)}/>'
    for y, text in rows:
        yield text_at(LEFT - 6, float(y) + 3, text, "end")
    for number, text in enumerate(panel.label):
        x = LEFT - 35 + 10.2 * (number - len(panel.label) + 1)
        yield text_at(x, (top + bottom) / 2, text, "middle", turned=True)
    if last:
        for place, text in seconds:
            yield text_at(float(place), bottom + 12, text, "middle")
        middle = (LEFT + RIGHT) / 2
        yield text_at(middle, bottom + 25, "time in all processes, end to end, s", "middle")


def _line(panel: TracePanel, at: Sequence[float], values: Sequence[float], colour: str) -> str:
    """Return samples joined by a line; of equal ones in a row the first and the last."""
    ys = [short(panel.up(value)) for value in values]
    kept = [
        f"{short(panel.across(second))} {y}"
        for before, second, y, after in zip(["", *ys], at, ys, [*ys[1:], ""], strict=False)
        if not before == y == after
    ]
    return f'<path d="M{" ".join(kept)}" {stroke(colour, 0.9)}/>'


def _dots(name: str, number: int, places: Iterable[tuple[float, float]]) -> str:
    """Return dots in the colour of the series of that number."""
    every = "".join(f'<use href="#{name}-0" x="{short(x)}" y="{short(y)}"/>' for x, y in places)
    return f'<g style="fill: {_colour(number)}">{every}</g>'


def _colour(number: int) -> str:
    return themed(SERIES[number % len(SERIES)])


def _shade(panel: TracePanel, start: float, end: float) -> str:
    """Return the marking of a discarded block."""
    x, until = panel.across(start), panel.across(end)
    return (
        f'<rect x="{short(x)}" y="{panel.up.end:g}" width="{short(until - x)}" '
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
            f'<circle cx="{short(x + 3)}" cy="{short(y - 2.6)}" r="{LEGEND_DOT}" '
            f'style="fill: {_colour(number)}"/>'
        )
        yield text_at(x + 8, y, one.label, "start", LEGEND_SIZE)
