"""Pictures as SVG by hand: scales, ticks, lines, marks and texts that all pictures share.

A plotting library takes a tenth of a second for what is a few lines, dots and labels, and a report
has dozens of pictures. Equal data gives equal bytes: no date, no random id, no address. All lengths
are in points; y grows downwards.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import NamedTuple

from assay.records.verdicts import Status, VerdictInShort

INK, MUTED, GRID = "#1c2128", "#5b6472", "#d5d9e0"
SERIES = ("#2f5fa8", "#a8480e", "#3b8132", "#8a4fb0", "#a8324a", "#7a6a16", "#17808a", "#6b6f78")
_VARIABLES = {
    INK: "--fig-ink",
    MUTED: "--fig-muted",
    GRID: "--fig-grid",
    **{status.facts.light: status.variable for status in Status if status.facts.mark},
    **{colour: f"--series-{number}" for number, colour in enumerate(SERIES)},
}
FONT = "'DejaVu Sans', Verdana, sans-serif"
SIZE = 8.5  # of the font, where nothing else is said
MARGIN = 0.05  # free on either side of the data, as a fraction of its range
STEPS = (1, 2, 5, 10)  # between ticks, times a power of ten
DASHES = "2.8 2.1"
SHAPES = {
    "o": "M-{r} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z",
    "s": "M-{r} -{r}h{d}v{d}h-{d}z",
    "D": "M0 -{q}L{q} 0L0 {q}L-{q} 0z",
    "^": "M0 -{r}L{r} {r}H-{r}z",
    "v": "M0 {r}L{r} -{r}H-{r}z",
    "P": "M-{h} -{r}h{r}v{h}h{h}v{r}h-{h}v{h}h-{r}v-{h}h-{h}v-{r}h{h}z",
    "X": "M-{h} -{r}L0 -{h}L{h} -{r}L{r} -{h}L{h} 0L{r} {h}L{h} {r}L0 {h}L-{h} {r}L-{r} {h}L-{h} 0"
    "L-{r} -{h}z",
}
"""Outlines of marks around their centre: half the size, all of it, half a diagonal, a quarter."""


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
        """Return round values inside, about ``most`` of them and at least two."""
        least = (self.high - self.low) / most * (1 - 1e-9)
        power = 10.0 ** math.floor(math.log10(least))
        wide = next(number for number, part in enumerate(STEPS) if part * power >= least)
        every = [self.multiples(part * power) for part in STEPS[wide::-1]]
        return next((found for found in every if len(found) > 1), every[-1])

    def multiples(self, step: float) -> list[float]:
        """Return the multiples of ``step`` inside."""
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


class LogScale(Scale):
    """The same by logarithms; values are positive."""

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def scale_of(values: Sequence[float], start: float, end: float) -> Scale:
    """Return a scale that holds all values and a margin; from 0 to 1 without any."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    free = MARGIN * (high - low) or MARGIN * abs(high) or 1.0
    return Scale(low - free, high + free, start, end)


def in_words(ticks: Sequence[float]) -> list[tuple[float, str]]:
    """Return ticks with as many decimals as tell them apart."""
    step = min((high - low for low, high in pairwise(ticks)), default=1.0)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(tick, f"{tick:.{decimals}f}") for tick in ticks]


def themed(colour: str) -> str:
    """Return a colour as a CSS variable of the page, which each theme sets."""
    return f"var({_VARIABLES[colour]}, {colour})"


def short(value: float) -> str:
    """Return a coordinate to a hundredth of a point."""
    return f"{value:.2f}"


def outline(shape: str, size: float) -> str:
    """Return one of ``SHAPES`` round 0, as large as ``size``."""
    numbers = {"r": size / 2, "d": size, "q": size / math.sqrt(2), "h": size / 4}
    return SHAPES[shape].format_map({key: f"{number:.4g}" for key, number in numbers.items()})


def stroke(colour: str, width: float, dashes: str | None = None) -> str:
    """Return the attribute of a line's look."""
    dashed = f"; stroke-dasharray: {dashes}" if dashes else ""
    return f'style="fill: none; stroke: {themed(colour)}; stroke-width: {width:g}{dashed}"'


def text_at(
    x: float, y: float, text: str, anchor: str, size: float | None = None, *, turned: bool = False
) -> str:
    """Return a text whose baseline is at ``y``; ``turned`` ones are read upwards."""
    place = f'x="{short(x)}" y="{short(y)}"'
    if turned:
        place = f'transform="translate({short(x)} {short(y)}) rotate(-90)"'
    style = f"text-anchor: {anchor}"
    style += f"; font-size: {size:g}px" if size else ""
    return f'<text {place} style="{style}">{escape(text)}</text>'


def line(points: Iterable[tuple[float, float]], colour: str, width: float, dashes: str = "") -> str:
    """Return a line through points."""
    places = " ".join(f"{short(x)} {short(y)}" for x, y in points)
    return f'<path d="M{places}" {stroke(colour, width, dashes)}/>'


def marked(x: float, y: float, shape: str, size: float, tone: str, *, hollow: bool = False) -> str:
    """Return a mark, one of ``SHAPES``."""
    paint = f"fill: {themed(tone)}"
    if hollow:
        paint = f"fill: var(--page); stroke: {themed(tone)}; stroke-width: 1.2"
    return (
        f'<path d="{outline(shape, size)}" transform="translate({short(x)} {short(y)})" '
        f'style="{paint}"/>'
    )


def beside(x: float, y: float, text: str, anchor: str) -> str:
    """Return a text whose middle is at ``y``."""
    return text_at(x, y + 0.36 * SIZE, text, anchor, SIZE)


def inline_svg(title: str, width: float, height: float, parts: Iterable[str]) -> str:
    """Return parts as one SVG that can stand in a page, in the page's font and colours."""
    size = f"{width:g}", short(height)
    return (
        f'<svg role="img" aria-label="{title}" class="figure" width="{size[0]}pt" '
        f'height="{size[1]}pt" viewBox="0 0 {size[0]} {size[1]}" version="1.1"> '
        f'<g style="font-family: {FONT}; font-size: {SIZE}px; fill: {themed(INK)}">'
        f"{' '.join(parts)}</g></svg>"
    )


MARK_SIZE = 8.0  # of a mark's own drawing; what uses it scales it
PLAIN = {"disc": "o", "square": "s", "diamond": "D", "ring": "o"}
"""The shape of a status that no picture draws, by its badge."""


class Mark(NamedTuple):
    """How a verdict is marked."""

    symbol: str
    """Id of the shape that the page defines once."""
    style: str
    """Class that colours it: a status."""
    hollow: bool
    """Of a figure measured on other hardware than its source names, and of what was not run."""


def mark_of(status: Status, *, hollow: bool = False) -> Mark:
    """Return the mark of a status."""
    shape = status.facts.mark or PLAIN[status.facts.badge]
    return Mark(_symbol(shape), status.value, hollow or status.facts.badge == "ring")


def verdict_mark(verdict: VerdictInShort) -> Mark:
    """Return the mark of a verdict: measured elsewhere, hollow and by what it would be there."""
    return mark_of(verdict.as_if or verdict.status, hollow=verdict.status is Status.ELSEWHERE)


def _symbol(shape: str) -> str:
    return f"mark-{[*SHAPES].index(shape)}"


def symbols() -> list[tuple[str, str]]:
    """Return (id, outline round 0) of every shape, for the page to define."""
    return [(_symbol(shape), outline(shape, MARK_SIZE)) for shape in SHAPES]
