"""The report's pictures: plain data in, an inline SVG out; without data, no picture."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.report.figure_style import INK, MUTED, SERIES
from assay.report.svg import INCH, SIZE, Drawing, LogScale, Scale, in_words, scale_of, text_at


@dataclass(frozen=True)
class RooflinePoint:
    """One arm: intensity in FLOP/byte, rate in TFLOP/s."""

    label: str
    intensity: float
    rate: float
    ours: bool
    named: bool
    """Whether a claim speaks of it: only such have a number and a line in the legend."""


@dataclass(frozen=True)
class Roofline:
    """A roofline drawn for a wide and for a narrow page, and its legend."""

    svg: str
    legend: tuple[tuple[str, bool], ...]
    """What each number is, from 1, and whether it is a kernel of ours."""


@dataclass(frozen=True)
class SweepPoint:
    """A rate in TFLOP/s at one tile depth BK, with its interval where it was measured."""

    bk: int
    rate: float
    low: float
    high: float


def roofline(
    points: Sequence[RooflinePoint], peak_tflop_per_s: float, memory_gb_per_s: float, name: str
) -> Roofline | None:
    """Rates against arithmetic intensity below the datasheet's ceilings; None without a point."""
    if not points:
        return None
    named = sorted((point for point in points if point.named), key=lambda point: -point.rate)
    return Roofline(
        "".join(
            _roofline(points, named, peak_tflop_per_s, memory_gb_per_s, f"{name}-{fit}", fit)
            for fit in ("wide", "narrow")
        ),
        tuple((point.label, point.ours) for point in named),
    )


def _roofline(
    points: Sequence[RooflinePoint],
    named: Sequence[RooflinePoint],
    peak: float,
    memory_gb_per_s: float,
    name: str,
    fit: str,
) -> str:
    """One drawing of it: the numbers of ``named`` points are their places."""
    width, height = (640.0, 330.0) if fit == "wide" else (262.0, 250.0)
    slope = memory_gb_per_s / 1000
    ridge = peak / slope
    low = min(*(point.intensity for point in points), ridge) / 2
    high = max(*(point.intensity for point in points), ridge) * 2
    floor = min(*(point.rate for point in points), low * slope) / 1.6
    across = LogScale(low, high, 48, width - 6)
    up = LogScale(floor, peak * 1.7, height - 34, 8)
    title = "Roofline: measured rates below the datasheet's ceilings"
    drawing = Drawing(name, title, width, height, fit)
    drawing.axis_left(up, _log_ticks(up), across.start, across.end)
    drawing.axis_below(across, _log_ticks(across), up.end, up.start)
    top, foot = up(peak), up(low * slope)
    drawing.line([(across.start, foot), (across(ridge), top), (across.end, top)], INK, 1.3)
    of_peak = f"{peak:g} TFLOP/s tensor peak"
    drawing.add(text_at(across.end - 2, top - 4, of_peak, "end"))
    drawing.add(text_at(across.start + 6, foot + 10, f"{memory_gb_per_s:g} GB/s", "start"))
    for point in points:
        if not point.named:
            drawing.mark(across(point.intensity), up(point.rate), "o", 2.5, MUTED)
    taken: list[tuple[float, float]] = []
    for number, point in enumerate(named, start=1):
        colour, shape = (SERIES[0], "o") if point.ours else (SERIES[1], "s")
        x, y = across(point.intensity), up(point.rate)
        drawing.mark(x, y, shape, 5, colour)
        beside = _free(x + 5, y, taken)
        taken.append(beside)
        if beside != (x + 5, y):
            drawing.line([(x, y), beside], MUTED, 0.35)
        drawing.beside(*beside, str(number), "start")
    middle = (across.start + across.end) / 2
    drawing.add(text_at(middle, up.start + 27, "arithmetic intensity, FLOP/byte", "middle"))
    drawing.add(text_at(11, (up.start + up.end) / 2, "rate, TFLOP/s", "middle", turned=True))
    return drawing.svg()


def _free(x: float, y: float, taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return a place for a number beside a mark that covers no other number."""
    step, tried = SIZE + 0.5, 0
    first = y
    while any(abs(x - across) < 1.6 * SIZE and abs(y - up) < step for across, up in taken):
        tried += 1
        # Above and below in turn, each time a little further.
        y = first + step * (tried + 1) / 2 * (-1) ** tried
    return x, y


def _log_ticks(scale: LogScale) -> list[tuple[float, str]]:
    """1, 2 and 5 times powers of ten; powers alone over more than two decades."""
    steps = (1, 2, 5) if scale.high / scale.low < 100 else (1,)
    every = [step * 10.0**power for power in range(-4, 7) for step in steps]
    return [(tick, f"{tick:g}") for tick in every if scale.low <= tick <= scale.high]


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
