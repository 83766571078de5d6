"""The picture of tuning sweeps: rates by configuration, one panel a sweep."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from assay.report.figure_style import SERIES
from assay.report.svg import DASHES, INCH, Drawing, Scale, in_words, text_at

OURS, LIBRARY = SERIES[0], SERIES[1]
ROW, HEAD, FOOT = 0.25 * INCH, 0.34 * INCH, 0.3 * INCH
"""A configuration's row, a panel's title above it, its axis below it."""
LABEL, NOTE = 0.075 * INCH, 0.058 * INCH
"""What a letter of a row's label (bold) and of its note takes, generously."""
NOTE_SIZE = 7.5
WRAP = 54
"""Letters of a note's line: two lines fit a row."""


@dataclass(frozen=True)
class Configuration:
    """One row of a panel: a rate in TFLOP/s with its interval."""

    label: str
    rate: float
    low: float
    high: float
    chosen: bool
    kernel: bool
    """False for a library: drawn as a line through the panel."""
    note: str
    """What stands at the right."""


@dataclass(frozen=True)
class Panel:
    """One sweep."""

    title: str
    rows: tuple[Configuration, ...]


def sweep_panels(panels: Sequence[Panel], name: str) -> str | None:
    """Return all sweeps below each other, each on its own axis; None where no kernel was
    measured.
    """
    drawn = [panel for panel in panels if any(row.kernel for row in panel.rows)]
    if not drawn:
        return None
    width = 8.4 * INCH
    height = sum(HEAD + FOOT + ROW * len(panel.rows) for panel in drawn) + 0.25 * INCH
    rows = [row for panel in drawn for row in panel.rows]
    left = 0.25 * INCH + LABEL * max(len(row.label) for row in rows)
    notes = 0.2 * INCH + NOTE * min(max(len(row.note) for row in rows), WRAP)
    right = left + max(width - left - notes, 0.25 * width)
    drawing = Drawing(name, "Rates of the configurations of every tuning sweep", width, height)
    bottom = 0.0
    for panel in drawn:
        top = bottom + HEAD
        bottom = top + ROW * len(panel.rows)
        _panel(drawing, panel, (left, right), Scale(-0.5, len(panel.rows) - 0.5, top, bottom))
        bottom += FOOT
    drawing.add(text_at((left + right) / 2, bottom + 5, "rate, TFLOP/s", "middle"))
    return drawing.svg()


def _panel(drawing: Drawing, panel: Panel, between: tuple[float, float], up: Scale) -> None:
    """Draw a panel ``between`` its left and right end, its rows along ``up``."""
    left, right = between
    across = _rates(panel, left, right)
    drawing.add(text_at(left, up.start - 6, panel.title, "start"))
    drawing.axis_below(across, in_words(across.ticks(6)), up.start, up.end)
    drawing.axis_left(up, (), left, right)
    for number, row in enumerate(panel.rows):
        colour, y = OURS if row.kernel else LIBRARY, up(number)
        if not row.kernel:
            line = [(across(row.rate), up.start), (across(row.rate), up.end)]
            drawing.line(line, colour, 0.8, DASHES)
        drawing.line([(across(row.low), y), (across(row.high), y)], colour, 1.6)
        shape, size = ("D", 6.5) if row.chosen else ("o", 4.5)
        drawing.mark(across(row.rate), y, shape, size, colour, hollow=not row.chosen)
        drawing.add(text_at(left - 3.5, y + 3, row.label, "end", bold=row.chosen))
        lines = wrap(row.note, WRAP)
        for place, text in enumerate(lines):
            middle = y + NOTE_SIZE * (place - (len(lines) - 1) / 2)
            drawing.beside(right + 0.02 * (right - left), middle, text, "start", NOTE_SIZE)


def _rates(panel: Panel, left: float, right: float) -> Scale:
    """Return the axis of a panel: its intervals with some room, never below nothing."""
    low, high = min(row.low for row in panel.rows), max(row.high for row in panel.rows)
    margin = max(0.08 * (high - low), 0.01 * high)
    return Scale(max(low - margin, 0), high + margin, left, right)
