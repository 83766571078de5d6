"""The strip plot of all figures: how they stand to their claims, a lane a source, each dot a link.

It is drawn twice, for a wide and for a narrow page; the style sheet shows the one that fits, so
that its letters keep their size.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import log

from assay.catalog.model import Catalog
from assay.findings.headline import ELSEWHERE, FIGURES
from assay.judging.counts import Outcome
from assay.records.claims import Relation
from assay.records.verdicts import Status, Why
from assay.report import formatting as fmt
from assay.report.claims import ClaimLine
from assay.report.figures.svg import LogScale, Mark, mark_of, short, verdict_mark
from assay.report.verdict_text import Ratio, by_program, toward_better

DRAWN = (FIGURES, ELSEWHERE, "ratios", "own")
DOT = 11.0  # across, in pixels
SMALL_WORDS = {False: "a ratio of two figures", True: "what the author's program prints"}
"""What is drawn small, by whether it is printed."""
SMALL = 0.65  # of a small dot, for each of the others'
STROKE = 7.5  # from a mark's middle to the left: where the stroke of a bound stands
LETTERS, LETTERS_ABOVE = 32, 46  # of a label's line beside a lane, which has two, and above it
AXIS = "measured ÷ claimed; of times and a rival's lead, where less is better, claimed ÷ measured"
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Sheet:
    """What a drawing is made for."""

    name: str
    width: float
    left: float
    row: float
    text: float
    """Of its letters, for each of the wide drawing's: the style sheet sets their size."""
    beside: bool
    """Whether a lane's label stands beside it; else above it."""


WIDE = Sheet("wide", 1240.0, 252.0, row=13.0, text=1.0, beside=True)
NARROW = Sheet("narrow", 430.0, 5.0, row=12.0, text=1.25, beside=False)
"""Drawn larger than a telephone is wide, and shown smaller: its marks with it, its letters not."""


@dataclass(frozen=True)
class Dot:
    """One figure."""

    href: str
    title: str
    """What it is, for a pointer and for a reader of the page aloud."""
    figure: str
    ratio: Ratio
    mark: Mark
    bound: bool = False
    """Of a claim of at least, or at most, a figure: drawn with a stroke beside it."""
    small: bool = False
    """Drawn smaller: a ratio of two figures, which is no measurement of its own, and what the
    author's program prints beside a rebuild."""
    printed: bool = False
    by_parts: bool = False
    """Of a ratio right of 1 that is not reproduced: a figure that it is formed from is not."""


def figure_strip(
    catalog: Catalog,
    sources: Sequence[str],
    counted_things: Sequence[Outcome],
    lines: Mapping[str, ClaimLine],
) -> fmt.Row | None:
    """Return every figure that counts and was measured, a lane a source; None where none was."""
    of_kinds = [each for each in counted_things if each.kind in DRAWN]
    stands = [(each, toward_better(catalog, each.lead)) for each in of_kinds]
    drawn = [(each, ratio) for each, ratio in stands if ratio is not None]
    dots: dict[str, list[Dot]] = {source: [] for source in sources}
    for each, ratio in drawn:
        dots[each.lead.source] += _dots(catalog, each, lines[each.lead.claim], ratio)
    if not drawn:
        return None
    ours = "its own claims" if catalog.project else "our own claims"
    said = {source: catalog.sources[source].source for source in dots}
    several = sum(each.file is None for each in said.values()) > 1
    lanes = [
        (f"{source}: {said[source].title}" if said[source].file or several else ours, found)
        for source, found in dots.items()
        if found
    ]
    seen = {each.status for each, _ in drawn}
    every = [dot for _, found in lanes for dot in found]
    judging = catalog.judging
    margins = {"wide": judging.absolute_margin, "narrow": judging.ratio_margin}
    if all(dot.bound for dot in every):
        margins = {}
    small = [SMALL_WORDS[printed] for printed in sorted({d.printed for d in every if d.small})]
    looks = (
        (f"small: {', or '.join(small)}", bool(small)),
        ("hollow: on another GPU than the source names", any(dot.mark.hollow for dot in every)),
        ("a stroke: the source says “at least” or “at most”", any(dot.bound for dot in every)),
    )
    return {
        "drawings": [drawing(lanes, margins, sheet) for sheet in (WIDE, NARROW)],
        "margins": bool(margins),
        "legend": [(mark_of(status), status.word) for status in Status if status in seen],
        "looks": [words for words, there in looks if there],
        "counts": f"{len(drawn)} of {len(of_kinds)} figures and ratios have a mark",
    }


def _dots(catalog: Catalog, each: Outcome, line: ClaimLine, ratio: Ratio) -> Iterator[Dot]:
    yield _dot(each, line, ratio)
    program = by_program(each.lead) if each.kind != "ratios" else None
    stands = toward_better(catalog, program) if program else None
    if program and stands:
        dot = _dot(replace(each, lead=program), line, stands)
        figure = f"{dot.figure}, by the author's program"
        yield replace(dot, figure=figure, small=True, printed=True)


def _dot(each: Outcome, line: ClaimLine, ratio: Ratio) -> Dot:
    verdict = each.lead
    return Dot(
        f"#{verdict.claim}",
        line.entry.statement,
        f"{fmt.figure(verdict.measured, verdict.unit, verdict.claimed)} for {line.claimed}",
        ratio,
        verdict_mark(verdict),
        bound=verdict.relation in (Relation.AT_LEAST.value, Relation.AT_MOST.value),
        small=each.kind == "ratios",
        by_parts=verdict.why is Why.PART_MISSED and ratio.value > 1,
    )


def drawing(
    lanes: Sequence[tuple[str, Sequence[Dot]]], margins: Mapping[str, float], sheet: Sheet
) -> str:
    """Return the plot of lanes, each a label and its dots, for one kind of page.

    ``margins``: of absolute figures (wide) and of ratios (narrow), as fractions; none where no dot
    has one.
    """
    values = [v for _, dots in lanes for dot in dots for v in (dot.ratio.low, dot.ratio.high)]
    left, width = sheet.left, sheet.width
    across = LogScale(min(*values, 0.5) / 1.12, max(*values, 2) * 1.12, left, width - 8)
    line, head = 14 * sheet.text, 18 * sheet.text
    parts: list[str] = []
    top = head
    for lane, dots in lanes:
        rows = _rows(dots, across)
        label = 0.0 if sheet.beside else line
        words = textwrap.wrap(lane, LETTERS, max_lines=2, placeholder=" …")
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
            called = textwrap.shorten(lane, LETTERS_ABOVE, placeholder=" …")
            parts.append(_text(left, top + label - 2, called, "start", "lane-label"))
        middle = top + label + 4 + sheet.row / 2
        parts += [_link(dot, across, middle + sheet.row * n, tip=sheet.beside) for n, dot in rows]
        top += high
    ticks = [tick for tick in TICKS if across.low <= tick <= across.high]
    if (across.end - across.start) / max(1.0, log(across.high / across.low)) <= 36:  # no room
        ticks = [tick for tick in ticks if tick in (0.01, 0.1, 1, 10, 100)]
    below = [_text(across(tick), top + 1.15 * line, f"{tick:g}", "middle") for tick in ticks]
    grid = "".join(f"M{short(across(tick))} {short(head)}V{short(top)}" for tick in ticks)
    bands = [
        f'<rect class="margin-{name}" x="{short(across(1 / (1 + margin)))}" y="{short(head)}" '
        f'width="{short(across(1 + margin) - across(1 / (1 + margin)))}" '
        f'height="{short(top - head)}"/>'
        for name, margin in margins.items()
    ]
    one = f'<path class="one" d="M{short(across(1))} {short(head)}V{short(top)}"/>'
    sides = [
        _text(across(1) - 10, head - 6, "← behind", "end"),
        _text(across(1) + 10, head - 6, "ahead →", "start"),
    ]
    axis = []
    for said in textwrap.wrap(AXIS, 3 * LETTERS if sheet.beside else LETTERS_ABOVE):
        axis.append(_text((left + width) / 2, top + 2.4 * line, said, "middle"))
        top += line
    inside = [*bands, f'<path class="grid" d="{grid}"/>', one, *sides, *parts, *below, *axis]
    return (
        f'<svg class="strip {sheet.name}" role="group" aria-label="Every measured figure over the '
        f'claimed one" viewBox="0 0 {short(width)} {short(top + 2 * line)}">{"".join(inside)}</svg>'
    )


def _rows(dots: Sequence[Dot], across: LogScale) -> list[tuple[int, Dot]]:
    """Return each dot with the first row in which it touches no other, nor the other's interval,
    from the worst on."""
    ends: list[float] = []
    placed = []
    for dot in sorted(dots, key=lambda dot: (dot.ratio.value, dot.href)):
        x, low, high = (across(v) for v in (dot.ratio.value, dot.ratio.low, dot.ratio.high))
        if high - low <= DOT:
            low = high = x
        begin = min(x - (STROKE + 1 if dot.bound else DOT / 2), low)
        row = next((n for n, before in enumerate(ends) if begin - before >= 1), len(ends))
        ends[row : row + 1] = [max(x + DOT / 2, high)]
        placed.append((row, dot))
    return placed


def _link(dot: Dot, across: LogScale, y: float, *, tip: bool) -> str:
    """Return the link. It is no stop of the tab key: the same stands in the table, with words."""
    x, low, high = (across(v) for v in (dot.ratio.value, dot.ratio.low, dot.ratio.high))
    inside = []
    if tip:
        beside = "; not reproduced because a figure of the two is not" if dot.by_parts else ""
        inside.append(f"<title>{escape(dot.title)}: {escape(dot.figure)}{beside}</title>")
    if high - low > DOT:
        inside.append(f'<path class="whisker" d="M{short(low)} {short(y)}H{short(high)}"/>')
    if dot.bound:
        at = x - (0.8 * STROKE if dot.small else STROKE)
        inside.append(f'<path class="bound" d="M{short(at)} {short(y - 5)}V{short(y + 5)}"/>')
    place = f'x="{short(x)}" y="{short(y)}"'
    if dot.small:
        place = f'transform="translate({short(x)} {short(y)}) scale({SMALL})"'
    inside.append(f'<use href="#{dot.mark.symbol}" {place}/>')
    label = "" if tip else f' aria-label="{escape(dot.title)}"'
    hollow = " hollow" if dot.mark.hollow else ""
    return (
        f'<a href="{escape(dot.href)}" tabindex="-1"{label} '
        f'class="s-{dot.mark.style}{hollow}">{"".join(inside)}</a>'
    )


def _text(x: float, y: float, words: str, anchor: str, style: str = "") -> str:
    place, styled = f'x="{short(x)}" y="{short(y)}"', f' class="{style}"' if style else ""
    return f'<text {place} text-anchor="{anchor}"{styled}>{escape(words)}</text>'
