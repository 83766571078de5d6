"""The picture of linear layers: times as fast as dense by tokens, a panel a size of weights."""

from collections.abc import Sequence

from assay.findings.layers import LayerPoint, LayerRow, LayerTable
from assay.report.figure_style import MUTED, SERIES
from assay.report.formatting import declared_percent
from assay.report.svg import DASHES, INCH, Drawing, LogScale, text_at

HEIGHT, PANEL = 2.6 * INCH, 3.2 * INCH
LEFT, BETWEEN, TOP, BOTTOM = 0.5 * INCH, 0.9 * INCH, 0.35 * INCH, 0.5 * INCH
ROOM = 1.15
"""Free on either side of the data, as a factor."""
TICKS = tuple(2.0**power for power in range(-6, 9))
SHAPES = ("o", "s", "D", "^", "v", "P", "X")


def layer_panels(table: LayerTable, name: str) -> str:
    """Return one panel a size of weights side by side; above the dashed line sparse layers win."""
    sizes = sorted({(row.out_features, row.in_features) for row in table.rows})
    width = LEFT + (PANEL + BETWEEN) * len(sizes)
    drawing = Drawing(name, "Block-sparse linear layers over dense ones, by tokens", width, HEIGHT)
    points = [point for row in table.rows for point in row.points if point is not None]
    ends = [end for point in points for end in point.speedup.interval()]
    up = LogScale(min(*ends, 1.0) / ROOM, max(*ends, 1.0) * ROOM, HEIGHT - BOTTOM, TOP)
    zeros = sorted({row.zero for row in table.rows})
    for number, size in enumerate(sizes):
        left = LEFT + (PANEL + BETWEEN) * number
        rows = [row for row in table.rows if (row.out_features, row.in_features) == size]
        drawing.add(text_at(left, TOP - 9, f"weights {size[0]} x {size[1]}", "start"))
        _panel(drawing, rows, zeros, table.tokens, (left, left + PANEL), up)
    drawing.add(
        text_at(12, (TOP + HEIGHT - BOTTOM) / 2, "times as fast as dense", "middle", turned=True)
    )
    return drawing.svg()


def _panel(
    drawing: Drawing,
    rows: Sequence[LayerRow],
    zeros: Sequence[float],
    tokens: Sequence[int],
    between: tuple[float, float],
    up: LogScale,
) -> None:
    """Draw one size of weights ``between`` its ends; a colour and a mark a share of zeros."""
    left, right = between
    across = LogScale(tokens[0] / ROOM, tokens[-1] * ROOM, left, right)
    drawing.axis_below(across, [(number, str(number)) for number in tokens], TOP, up.start)
    ticks = [(tick, f"{tick:g}") for tick in TICKS if up.low <= tick <= up.high]
    drawing.axis_left(up, ticks, left, right)
    drawing.line([(left, up(1.0)), (right, up(1.0))], MUTED, 0.9, DASHES)
    drawing.add(text_at((left + right) / 2, up.start + 27, "tokens", "middle"))
    for row in rows:
        place = zeros.index(row.zero)
        colour, shape = SERIES[place % len(SERIES)], SHAPES[place % len(SHAPES)]
        measured: list[LayerPoint] = [point for point in row.points if point is not None]
        places = [(across(each.tokens), up(each.speedup.value())) for each in measured]
        drawing.line(places, colour, 1.2)
        for point, (x, y) in zip(measured, places, strict=True):
            low, high = point.speedup.interval()
            drawing.line([(x, up(low)), (x, up(high))], colour, 1.6)
            drawing.mark(x, y, shape, 4.5, colour)
        drawing.beside(right + 4, places[-1][1], f"{declared_percent(row.zero)} zero", "start", 7.5)
