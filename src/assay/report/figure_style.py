"""The look of every picture, and its form as an SVG that can stand in a page.

The SVGs carry no script, no date and no random id, so equal data gives equal bytes. Colours are
written as CSS variables with the light theme's value as fallback: one picture serves both themes.
"""

import io
import re

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from assay.records.verdicts import Status

INK, MUTED, GRID, BAND = "#1c2128", "#5b6472", "#d5d9e0", "#c9d8ee"
SERIES = ("#2f5fa8", "#c2571a", "#3b8132", "#8a4fb0", "#a8324a", "#7a6a16", "#17808a", "#6b6f78")
_VARIABLES = {
    INK: "--fig-ink",
    MUTED: "--fig-muted",
    GRID: "--fig-grid",
    BAND: "--fig-band",
    **{status.facts.light: status.variable for status in Status if status.facts.mark},
    **{colour: f"--series-{number}" for number, colour in enumerate(SERIES)},
}
FONT = "'DejaVu Sans', Verdana, sans-serif"
STYLE = {
    "svg.hashsalt": "assay",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: measured the same everywhere
    "font.size": 8.5,
    "text.parse_math": False,
    "text.color": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "path.simplify": True,
}


def themed(colour: str) -> str:
    """Return a colour of this page as a CSS variable of the report's, which each theme sets."""
    return f"var({_VARIABLES[colour]}, {colour})"


def inline_svg(figure: Figure, name: str, title: str) -> str:
    """Render for inlining: no prolog, no metadata, ids that are unique on the page."""
    stream = io.StringIO()
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
    FigureCanvasSVG(figure).print_svg(stream, metadata=metadata)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # The line joins are set by the page's style sheet: a style inside an SVG would reach the page.
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = _number_ids(text, name)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text)
    text = re.sub(r"<[^>]*>", _short_coordinates, text)
    text = text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana")
    for colour in _VARIABLES:
        text = text.replace(colour, themed(colour))
    text = re.sub(r"\s*\n\s*", " ", text)
    text = re.sub(r"<g((?: clip-path=\"[^\"]*\")?)>((?: <use [^>]*/>)+) </g>", _hoist_style, text)
    label = f'<svg role="img" aria-label="{title}" class="figure" '
    return text.replace("<svg ", label, 1).strip()


def _number_ids(text: str, name: str) -> str:
    """Ids in the order in which they are defined: matplotlib's are hashes of coordinates unrounded,
    whose last digits differ from machine to machine.
    """
    found = dict.fromkeys(re.findall(r'\bid="([^"]*)"', text))
    numbered = {old: f"{name}-{number}" for number, old in enumerate(found)}
    return re.sub(
        r'(\bid="|url\(#|xlink:href="#)([^")]*)',
        lambda match: match[1].removeprefix("xlink:") + numbered[match[2]],
        text,
    )


def _short_coordinates(tag: re.Match[str]) -> str:
    """Coordinates to a hundredth of a point; text between tags keeps its digits."""
    return re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", tag[0])


def _hoist_style(group: re.Match[str]) -> str:
    """Markers that all look alike say so once, on their group: a trace has hundreds of them."""
    styles = re.findall(r' style="([^"]*)"', group[2])
    if len(set(styles)) != 1 or len(styles) != group[2].count("<use "):
        return group[0]
    return f'<g{group[1]} style="{styles[0]}">' + re.sub(r' style="[^"]*"', "", group[2]) + "</g>"
