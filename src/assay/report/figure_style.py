"""The colours and the font of every picture.

Colours are written as CSS variables with the light theme's value as fallback: one picture serves
both themes.
"""

from assay.records.verdicts import Status

INK, MUTED, GRID, BAND = "#1c2128", "#5b6472", "#d5d9e0", "#c9d8ee"
SERIES = ("#2f5fa8", "#a8480e", "#3b8132", "#8a4fb0", "#a8324a", "#7a6a16", "#17808a", "#6b6f78")
_VARIABLES = {
    INK: "--fig-ink",
    MUTED: "--fig-muted",
    GRID: "--fig-grid",
    BAND: "--fig-band",
    **{status.facts.light: status.variable for status in Status if status.facts.mark},
    **{colour: f"--series-{number}" for number, colour in enumerate(SERIES)},
}
FONT = "'DejaVu Sans', Verdana, sans-serif"


def themed(colour: str) -> str:
    """Return a colour of this page as a CSS variable of the report's, which each theme sets."""
    return f"var({_VARIABLES[colour]}, {colour})"
