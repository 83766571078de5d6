"""The pictures of a run: SM clock, power and turn times, one below the other; samples as bars."""

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from assay.records import units
from assay.records.measurements import BenchmarkRecord
from assay.records.verdicts import Status
from assay.report.figures import svg
from assay.report.figures.svg import Scale, in_words, short, stroke, text_at
from assay.shared.counting import counted

TITLE = "SM clock, power and launch times over time"
WIDTH, LEFT, RIGHT, TOP = 446.4, 58.0, 443.4, 5.0
"""In points, as are all lengths here; y grows downwards."""
HEIGHTS = (56.0, 56.0, 95.0)
GAP = 9.0
LEGEND_SIZE = 7.5
LETTER = 0.64  # width of a letter over the size of its font, generously
DOT, LEGEND_DOT = 1.35, 2.2  # radii
BINS, TALL = 24, 20  # of a histogram: how many bars, and how high the highest is
PROCESS_GAP_S = 0.3  # drawn between the traces of two processes, so that they read as two


class TracePanel(NamedTuple):
    """One of the three: what it is called, and where it lies."""

    label: tuple[str, ...]
    across: Scale
    up: Scale


def distribution(times_ms: Sequence[float]) -> str:
    """Return a small histogram of samples in ms: the middle 98 of 100, told by the middle 90."""
    low, first, middle, last, high = np.percentile(times_ms, [1, 5, 50, 95, 99])
    counts, _ = np.histogram(times_ms, bins=BINS, range=(low, max(high, low * (1 + 1e-9))))
    bars = "".join(f"V{TALL - round(TALL * n / max(counts))}h4" for n in counts)
    words = (
        f"{counted(len(times_ms), 'sample')}, median {units.number(middle)} ms, 90 % of them from "
        f"{units.number(first)} to {units.number(last)} ms"
    )
    return (
        f'<svg class="samples" role="img" aria-label="{words}" viewBox="0 0 {4 * BINS} {TALL}">'
        f'<title>{words}</title><path d="M0 {TALL}{bars}V{TALL}z"/></svg>'
    )


def traces(record: BenchmarkRecord, limit_w: float | None, name: str) -> str | None:
    """Return a picture of all processes end to end, turn times over their arm's median.

    Its ids start with ``name``; ``limit_w``: the power limit. None without samples.
    """
    clock_at: list[tuple[Sequence[float], Sequence[float], Sequence[float]]] = []
    spans: list[tuple[float, float]] = []
    turns: dict[str, list[tuple[float, float]]] = {}
    start = 0.0
    for process in record.processes:
        telemetry = process.telemetry
        if telemetry.at_s:
            shifted = [start + second for second in telemetry.at_s]
            clock_at.append((shifted, telemetry.clock_sm_mhz, telemetry.power_w))
        for block in process.blocks:
            if block.void and block.turns:
                spans.append((start + block.turns[0].started_s, start + block.turns[-1].ended_s))
            for turn in block.turns:
                middle = start + (turn.started_s + turn.ended_s) / 2
                turns.setdefault(turn.arm, []).append((middle, median(turn.times_ms)))
        ended = [turn.ended_s for block in process.blocks for turn in block.turns]
        start += max([*telemetry.at_s, *ended], default=0.0) + PROCESS_GAP_S
    middles = {arm: median(time for _, time in of) for arm, of in turns.items()}
    series = {arm: [(at, time / middles[arm]) for at, time in of] for arm, of in turns.items()}
    return drawn(clock_at, spans, series, limit_w, name) if clock_at or turns else None


def drawn(
    segments: Sequence[tuple[Sequence[float], Sequence[float], Sequence[float]]],
    spans: Sequence[tuple[float, float]],
    series: dict[str, list[tuple[float, float]]],
    limit_w: float | None,
    name: str,
) -> str:
    """Return clock, power and turn times below each other; ``spans``: discarded.

    ``segments``: of each process times in s, SM clock in MHz, power in W.
    """
    places = [place for each in series.values() for place in each]
    seconds = [second for at, *_ in segments for second in at] + [at for at, _ in places]
    across = svg.scale_of([*seconds, *(end for span in spans for end in span)], LEFT, RIGHT)
    watts = [watt for *_, power in segments for watt in power]
    shown = (
        (("SM clock", "MHz"), [mhz for _, clock, _ in segments for mhz in clock]),
        (("power", "W"), watts if limit_w is None else [*watts, limit_w]),
        (("time ÷ median",), [time for _, time in places]),
    )
    panels, top = [], TOP
    for (label, values), height in zip(shown, HEIGHTS, strict=True):
        panels.append(TracePanel(label, across, svg.scale_of(values, top + height, top)))
        top += height + GAP
    clock, power, times = panels
    # Entries side by side: four, or as many as the longest leaves room.
    longest = LETTER * LEGEND_SIZE * max(map(len, series), default=0)
    columns = max(1, min(4, int((RIGHT - LEFT) / (12 + longest))))
    foot = times.up.start + 32
    parts = [
        f'<defs><circle id="{name}-0" r="{DOT}"/></defs>',
        *(part for panel in panels for part in _axes(panel, panel is times)),
        *(_line(clock, at, mhz, svg.SERIES[0]) for at, mhz, _ in segments),
        *(_line(power, at, used, svg.SERIES[1]) for at, _, used in segments),
    ]
    if limit_w is not None:
        y = short(power.up(limit_w))
        parts.append(f'<path d="M{LEFT:g} {y}H{RIGHT:g}" {stroke(svg.MUTED, 0.7, svg.DASHES)}/>')
    for number, of in enumerate(series.values()):
        at, ratios = zip(*of, strict=True)
        points = zip(_places(across, at), _places(times.up, ratios), strict=True)
        dots = "".join(f'<use href="#{name}-0" x="{x}" y="{y}"/>' for x, y in points)
        parts.append(f'<g style="fill: {_colour(number)}">{dots}</g>')
    parts += [_shade(panel, *span) for panel in panels for span in spans]
    parts += _names(series, columns, foot)
    return svg.inline_svg(TITLE, WIDTH, foot + 11 * math.ceil(len(series) / columns) + 3, parts)


def _axes(panel: TracePanel, last: bool) -> Iterator[str]:
    bottom, top = panel.up.start, panel.up.end
    rows = [(short(panel.up(tick)), text) for tick, text in in_words(panel.up.ticks(4))]
    grid = "".join(f"M{LEFT:g} {y}H{RIGHT:g}" for y, _ in rows)
    yield f'<path d="{grid}" {stroke(svg.GRID, 0.6)}/>'
    seconds = [(short(panel.across(tick)), text) for tick, text in in_words(panel.across.ticks(8))]
    marks = "".join(f"M{LEFT:g} {y}h-3.5" for y, _ in rows)
    marks += "".join(f"M{x} {bottom:g}v3.5" for x, _ in seconds)
    frame = f"M{LEFT:g} {top:g}V{bottom:g}H{RIGHT:g}"
    yield f'<path d="{frame}{marks}" {stroke(svg.MUTED, 0.7)}/>'
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
    xs, ys = _places(panel.across, at), _places(panel.up, values)
    kept = [
        f"{x} {y}"
        for before, x, y, after in zip(["", *ys], xs, ys, [*ys[1:], ""], strict=False)
        if not before == y == after
    ]
    return f'<path d="M{" ".join(kept)}" {stroke(colour, 0.9)}/>'


def _places(scale: Scale, values: Sequence[float]) -> list[str]:
    return [short(scale(value)) for value in values]


def _colour(number: int) -> str:
    return svg.themed(svg.SERIES[number % len(svg.SERIES)])


def _shade(panel: TracePanel, start: float, end: float) -> str:
    x, until, (bottom, top) = panel.across(start), panel.across(end), (panel.up.start, panel.up.end)
    colour = svg.themed(Status.NOT_REPRODUCED.facts.light)
    return (
        f'<rect x="{short(x)}" y="{top:g}" width="{short(until - x)}" height="{bottom - top:g}" '
        f'style="fill: {colour}; fill-opacity: 0.15"/>'
    )


def _names(labels: dict[str, list[tuple[float, float]]], columns: int, top: float) -> Iterator[str]:
    for number, label in enumerate(labels):
        row, column = divmod(number, columns)
        x = LEFT + column * (RIGHT - LEFT) / columns
        y = top + 11 * row + 6
        yield (
            f'<circle cx="{short(x + 3)}" cy="{short(y - 2.6)}" r="{LEGEND_DOT}" '
            f'style="fill: {_colour(number)}"/>'
        )
        yield text_at(x + 8, y, label, "start", LEGEND_SIZE)
