"""The strip plot of all figures: how they stand to their claims, a lane a source, each dot a link.

It is drawn twice, for a wide and for a narrow page; the style sheet shows the one that fits, so
that its letters keep their size.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import log

from assay.report.marks import Mark
from assay.report.ratios import Ratio
from assay.report.svg import LogScale, short

DOT = 11.0
"""Across, in pixels."""
SMALL = 0.65
"""Of a small dot, for each of the others'."""
STROKE = 7.5
"""From a mark's middle to the left: where the stroke of a bound stands."""
BESIDE = 230.0
"""Room for the labels beside the lanes, of two lines of ``LETTERS``."""
LETTERS = 32
LETTERS_ABOVE = 46
AXIS = "measured ÷ claimed"
TURNED = "of times and a rival's lead, where less is better, claimed ÷ measured"
"""What the axis says, too; on a narrow page the caption does."""
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Sheet:
    """What a drawing is made for."""

    name: str
    width: float
    left: float
    """Where the lanes begin."""
    row: float
    """Height of one row of dots."""
    text: float
    """Of its letters, for each of the wide drawing's: the style sheet sets their size."""
    beside: bool
    """Whether a lane's label stands beside it; else above it."""


WIDE = Sheet("wide", 1240.0, BESIDE, row=15.0, text=1.0, beside=True)
NARROW = Sheet("narrow", 430.0, 5.0, row=12.0, text=1.25, beside=False)
"""Drawn larger than a telephone is wide, and shown smaller: its marks with it, its letters not."""


@dataclass(frozen=True)
class Dot:
    """One figure."""

    href: str
    title: str
    """What it is, for a pointer and for a reader of the page aloud."""
    figure: str
    """Measured for claimed, in words."""
    ratio: Ratio
    mark: Mark
    bound: bool = False
    """Of a claim of at least, or at most, a figure: drawn with a stroke beside it."""
    small: bool = False
    """Drawn smaller: a ratio of two figures, which is no measurement of its own."""
    alike: bool = False
    """Of two things that are said to be the same: right of 1 is above, and not ahead."""
    by_parts: bool = False
    """Of a ratio right of 1 that is not reproduced: a figure that it is formed from is not."""


@dataclass(frozen=True)
class Lane:
    """The figures of one source."""

    label: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Strip:
    """Both drawings."""

    wide: str
    narrow: str
    legend: tuple[tuple[Mark, str], ...]
    counts: str
    """How many marks of what there are."""
    bounds: bool
    """Whether a mark has the stroke of a bound."""
    alike: int
    """Marks of things that are said to be the same, of which neither side of 1 is ahead."""
    by_parts: int
    """Marks right of 1 that are not reproduced because of a figure that the ratio is formed of."""
    turned: str = TURNED
    """What the narrow drawing leaves to the caption."""


def strip(
    lanes: Sequence[Lane],
    margins: tuple[float, float],
    legend: Sequence[tuple[Mark, str]],
    counts: str = "",
) -> Strip | None:
    """Return the plot of the lanes that hold a dot; None where none does.

    ``margins``: of absolute figures and of ratios, as fractions. ``counts``: how many marks of
    what there are, in words.
    """
    drawn = [lane for lane in lanes if lane.dots]
    if not drawn:
        return None
    return Strip(
        _drawing(drawn, margins, WIDE),
        _drawing(drawn, margins, NARROW),
        tuple(legend),
        counts,
        any(dot.bound for lane in drawn for dot in lane.dots),
        sum(dot.alike for lane in drawn for dot in lane.dots),
        sum(dot.by_parts for lane in drawn for dot in lane.dots),
    )


def _drawing(lanes: Sequence[Lane], margins: tuple[float, float], sheet: Sheet) -> str:
    values = [v for lane in lanes for dot in lane.dots for v in (dot.ratio.low, dot.ratio.high)]
    left, width = sheet.left, sheet.width
    across = LogScale(min(*values, 0.5) / 1.12, max(*values, 2) * 1.12, left, width - 8)
    line = 14 * sheet.text
    head = 18 * sheet.text
    """For the directions above the lanes."""
    parts: list[str] = []
    top = head
    for lane in lanes:
        rows = _rows(lane.dots, across)
        label = 0.0 if sheet.beside else line
        words = textwrap.wrap(lane.label, LETTERS, max_lines=2, placeholder=" …")
        high = label + sheet.row * max(1, 1 + max(row for row, _ in rows)) + 8
        high = max(high, line * len(words) + 6) if sheet.beside else high
        parts.append(f'<path class="lane" d="M{short(left)} {short(top + high)}H{short(width)}"/>')
        if sheet.beside:
            first = top + high / 2 + 4 - 7 * (len(words) - 1)
            parts += [
                _text(left - 10, first + line * number, words_of, "end", "lane-label")
                for number, words_of in enumerate(words)
            ]
        else:
            called = textwrap.shorten(lane.label, LETTERS_ABOVE, placeholder=" …")
            parts.append(_text(left, top + label - 2, called, "start", "lane-label"))
        middle = top + label + 4 + sheet.row / 2
        parts += [
            _dot(dot, across, middle + sheet.row * row, tip=sheet.beside) for row, dot in rows
        ]
        top += high
    below = [
        _text(across(tick), top + 1.15 * line, f"{tick:g}", "middle") for tick in _ticks(across)
    ]
    grid = "".join(f"M{short(across(t))} {short(head)}V{short(top)}" for t in _ticks(across))
    bands = [
        f'<rect class="margin-{name}" x="{short(across(1 / (1 + margin)))}" y="{short(head)}" '
        f'width="{short(across(1 + margin) - across(1 / (1 + margin)))}" '
        f'height="{short(top - head)}"/>'
        for name, margin in zip(("wide", "narrow"), margins, strict=True)
    ]
    one = f'<path class="one" d="M{short(across(1))} {short(head)}V{short(top)}"/>'
    sides = [
        _text(across(1) - 10, head - 6, "← behind", "end"),
        _text(across(1) + 10, head - 6, "ahead →", "start"),
    ]
    said = f"{AXIS}; {TURNED}" if sheet.beside else AXIS
    axis = _text((left + width) / 2, top + 2.4 * line, said, "middle")
    inside = "".join(
        [*bands, f'<path class="grid" d="{grid}"/>', one, *sides, *parts, *below, axis]
    )
    return (
        f'<svg class="strip {sheet.name}" role="group" aria-label="Every measured figure over the '
        f'claimed one" viewBox="0 0 {short(width)} {short(top + 3 * line)}">{inside}</svg>'
    )


def _ticks(across: LogScale) -> list[float]:
    """Return round ratios inside, as many as have room for their words."""
    inside = [tick for tick in TICKS if across.low <= tick <= across.high]
    room = (across.end - across.start) / max(1.0, log(across.high / across.low))
    return inside if room > 36 else [tick for tick in inside if tick in (0.01, 0.1, 1, 10, 100)]


def _rows(dots: Sequence[Dot], across: LogScale) -> list[tuple[int, Dot]]:
    """Return each dot with the first row in which it touches no other, nor the other's interval,
    from the worst on."""
    ends: list[float] = []
    placed = []
    for dot in sorted(dots, key=lambda dot: (dot.ratio.value, dot.href)):
        begin, end = _extent(dot, across)
        row = next((n for n, before in enumerate(ends) if begin - before >= 1), len(ends))
        ends[row : row + 1] = [end]
        placed.append((row, dot))
    return placed


def _extent(dot: Dot, across: LogScale) -> tuple[float, float]:
    """Return where a dot begins and ends, with its interval as far as that is drawn."""
    x, low, high = (across(v) for v in (dot.ratio.value, dot.ratio.low, dot.ratio.high))
    if high - low <= DOT:
        low = high = x
    return min(x - (STROKE + 1 if dot.bound else DOT / 2), low), max(x + DOT / 2, high)


def _dot(dot: Dot, across: LogScale, y: float, *, tip: bool) -> str:
    """The link: its interval as a line, its mark, what it is.

    Not a stop of the tab key: the same link stands in the table, with its words.
    """
    x, low, high = (across(v) for v in (dot.ratio.value, dot.ratio.low, dot.ratio.high))
    whiskers = (
        f'<path class="whisker" d="M{short(low)} {short(y)}H{short(high)}"/>'
        if high - low > DOT
        else ""
    )
    at = x - (0.8 * STROKE if dot.small else STROKE)
    bound = (
        f'<path class="bound" d="M{short(at)} {short(y - 5)}V{short(y + 5)}"/>' if dot.bound else ""
    )
    hollow = " hollow" if dot.mark.hollow else ""
    beside = "; said to be the same, so that neither side is ahead" if dot.alike else ""
    beside += "; not reproduced because a figure of the two is not" if dot.by_parts else ""
    told = f"<title>{escape(dot.title)}: {escape(dot.figure)}{beside}</title>" if tip else ""
    label = "" if tip else f' aria-label="{escape(dot.title)}"'
    return (
        f'<a href="{escape(dot.href)}" tabindex="-1"{label} '
        f'class="s-{dot.mark.style}{hollow}">{told}{whiskers}{bound}'
        f'<use href="#{dot.mark.symbol}" {_placed(x, y, small=dot.small)}/></a>'
    )


def _placed(x: float, y: float, *, small: bool) -> str:
    if small:
        return f'transform="translate({short(x)} {short(y)}) scale({SMALL})"'
    return f'x="{short(x)}" y="{short(y)}"'


def _text(x: float, y: float, words: str, anchor: str, style: str = "") -> str:
    styled = f' class="{style}"' if style else ""
    return (
        f'<text x="{short(x)}" y="{short(y)}" text-anchor="{anchor}"{styled}>{escape(words)}</text>'
    )
