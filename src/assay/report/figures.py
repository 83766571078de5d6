"""The report's pictures: plain data in, an inline SVG out; without data, no picture."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.records.verdicts import Status
from assay.report.figure_style import BAND, INK, MUTED, SERIES, themed
from assay.report.svg import INCH, Drawing, LogScale, Scale, in_words, scale_of, short, text_at

WIDTH = 8.4 * INCH
LETTER = 0.068 * INCH
"""Width of a letter of a row's label, generously."""


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
    height = (0.75 + 0.27 * len(points)) * INCH
    left = 0.2 * INCH + LETTER * max(len(point.label) for point in points)
    low, high = _ratio_limits(points)
    across = LogScale(low, high, left, 0.73 * WIDTH)
    up = Scale(-0.6, len(points) - 0.4, 0.2 * INCH, height - 0.5 * INCH)
    drawing = Drawing(
        name, "Measured over claimed figures with confidence intervals", WIDTH, height
    )
    drawing.axis_below(across, _ratio_ticks(low, high), up.start, up.end)
    for row, point in enumerate(points):
        lower = across(low if point.band_low is None else point.band_low)
        upper = across(high if point.band_high is None else point.band_high)
        drawing.add(
            f'<rect x="{short(lower)}" y="{short(up(row - 0.36))}" width="{short(upper - lower)}" '
            f'height="{short(up(0.72) - up(0))}" style="fill: {themed(BAND)}"/>'
        )
    drawing.line([(across(1), up.start), (across(1), up.end)], INK, 0.9)
    for row, point in enumerate(points):
        facts = point.status.facts
        colour = facts.light if facts.mark else MUTED
        drawing.line([(across(point.low), up(row)), (across(point.high), up(row))], colour, 1.6)
        hollow = facts.badge == "ring"
        size = 7 if hollow else 5
        drawing.mark(across(point.ratio), up(row), facts.mark or "s", size, colour, hollow=hollow)
        drawing.beside(left - 3.5, up(row), point.label, "end")
        drawing.beside(across.end + 0.02 * (across.end - left), up(row), point.note, "start", 8)
    middle = (left + across.end) / 2
    drawing.add(text_at(middle, up.end + 27, "measured / claimed (shaded: margin)", "middle"))
    return drawing.svg()


def _ratio_limits(points: Sequence[ClaimPoint]) -> tuple[float, float]:
    values = [v for p in points for v in (p.low, p.high, p.ratio, p.band_low, p.band_high)]
    positive = [value for value in values if value is not None and value > 0]
    return min(*positive, 0.8) / 1.08, max(*positive, 1.25) * 1.08


def _ratio_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Ticks a reader can name: finer ones where all ratios lie near 1."""
    if high / low < 4:
        candidates = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5]
    elif high / low < 60:
        candidates = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    else:
        candidates = [10.0**power for power in range(-6, 7)]
    return [(tick, f"{tick:g}") for tick in candidates if low <= tick <= high]


def roofline(
    points: Sequence[RooflinePoint], peak_tflop_per_s: float, memory_gb_per_s: float, name: str
) -> str | None:
    """Rates against arithmetic intensity below the datasheet's ceilings; None without a point."""
    if not points:
        return None
    height = max(3.6, 0.5 + 0.19 * len(points)) * INCH
    slope = memory_gb_per_s / 1000
    ridge = peak_tflop_per_s / slope
    low = min(*(point.intensity for point in points), ridge) / 2
    high = max(*(point.intensity for point in points), ridge) * 2
    floor = min(*(point.rate for point in points), low * slope) / 1.6
    across = LogScale(low, high, 0.08 * WIDTH, 0.63 * WIDTH)
    up = LogScale(floor, peak_tflop_per_s * 1.7, height - 0.45 * INCH, 0.03 * height)
    drawing = Drawing(
        name, "Roofline: measured rates below the datasheet's ceilings", WIDTH, height
    )
    drawing.axis_left(up, _log_ticks(up), across.start, across.end)
    drawing.axis_below(across, _log_ticks(across), up.end, up.start)
    peak = up(peak_tflop_per_s)
    foot = up(low * slope)
    ceiling = [(across.start, foot), (across(ridge), peak), (across.end, peak)]
    _points_with_names(drawing, points, across, up)
    drawing.line(ceiling, INK, 1.3)
    of_peak = f"{peak_tflop_per_s:g} TFLOP/s tensor peak"
    drawing.add(text_at(across.end - 2, peak - 4, of_peak, "end", 8))
    drawing.add(text_at(across.start + 6, foot + 9, f"{memory_gb_per_s:g} GB/s", "start", 8))
    middle = (across.start + across.end) / 2
    drawing.add(text_at(middle, up.start + 26, "arithmetic intensity, FLOP/byte", "middle"))
    middle = (up.start + up.end) / 2
    drawing.add(text_at(across.start - 33, middle, "rate, TFLOP/s", "middle", turned=True))
    return drawing.svg()


def _log_ticks(scale: LogScale) -> list[tuple[float, str]]:
    """1, 2 and 5 times powers of ten; powers alone over more than two decades."""
    steps = (1, 2, 5) if scale.high / scale.low < 100 else (1,)
    every = [step * 10.0**power for power in range(-4, 7) for step in steps]
    return [(tick, f"{tick:g}") for tick in every if scale.low <= tick <= scale.high]


def _points_with_names(
    drawing: Drawing, points: Sequence[RooflinePoint], across: LogScale, up: LogScale
) -> None:
    """Points with their names in a column to the right, in order of height, joined by leaders."""
    ordered = sorted(points, key=lambda point: -point.rate)
    column = Scale(0, len(ordered), up.end, up.start)
    wide = across.end - across.start
    for row, point in enumerate(ordered, start=1):
        place = across(point.intensity), up(point.rate)
        drawing.line([place, (across.end + 0.035 * wide, column(row - 0.5))], MUTED, 0.35)
    for row, point in enumerate(ordered, start=1):
        colour = SERIES[0] if point.ours else SERIES[1]
        shape = "o" if point.ours else "s"
        drawing.mark(across(point.intensity), up(point.rate), shape, 4.5, colour)
        x, y = across.end + 0.04 * wide, column(row - 0.5) + 2.7
        drawing.add(text_at(x, y, point.label, "start", 7.5, colour=colour))


def bk_sweep(
    measured: Sequence[SweepPoint], published: Sequence[tuple[int, float]], name: str
) -> str | None:
    """Rate against tile depth, measured and published; None when nothing was measured."""
    if not measured:
        return None
    width, height = 6.4 * INCH, 3.0 * INCH
    depths = sorted({*(point.bk for point in measured), *(bk for bk, _ in published)})
    highest = max(*(point.high for point in measured), *(rate for _, rate in published))
    across = scale_of(depths, 48, width - 4)
    up = Scale(0, 1.05 * highest, height - 36, 22)
    drawing = Drawing(name, "Rate against tile depth BK, measured and published", width, height)
    drawing.axis_left(up, in_words(up.ticks(8)), across.start, across.end)
    drawing.axis_below(across, [(bk, str(bk)) for bk in depths], up.start, up.start)
    drawing.line([(across(point.bk), up(point.rate)) for point in measured], SERIES[0], 1.2)
    for point in measured:
        x = across(point.bk)
        drawing.line([(x, up(point.low)), (x, up(point.high))], SERIES[0], 1.2)
        drawing.mark(x, up(point.rate), "o", 4.5, SERIES[0])
    for bk, rate in published:
        drawing.mark(across(bk), up(rate), "D", 5, SERIES[1])
    middle = (across.start + across.end) / 2
    drawing.add(text_at(middle, up.start + 27, "tile depth BK", "middle"))
    drawing.add(text_at(12, (up.start + up.end) / 2, "rate, TFLOP/s", "middle", turned=True))
    kinds = [("measured", "o", 4.5), *([("published", "D", 5.0)] if published else [])]
    for number, (kind, shape, size) in enumerate(kinds):
        x = across.start + 8 + 70 * number
        drawing.mark(x, 10, shape, size, SERIES[number])
        drawing.beside(x + 7, 10, kind, "start")
    return drawing.svg()
