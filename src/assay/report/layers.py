"""The report on linear layers: from which share of zeros and how many tokens on sparse ones pay."""

from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import benchmark_path
from assay.findings.layers import LayerPoint, LayerRow, LayerTable, layer_tables
from assay.judging.case import Case
from assay.report import formatting as fmt
from assay.report.figure_layers import layer_panels
from assay.report.links import Link, link
from assay.statistics.shared_summaries import SharedSummaries


@dataclass(frozen=True)
class LayerCell:
    """One layer at one number of tokens."""

    speedup: str
    interval: str | None
    pays: bool


@dataclass(frozen=True)
class LayerLine:
    """One sparse layer."""

    weights: str
    zero: str
    cells: tuple[LayerCell, ...]


@dataclass(frozen=True)
class LayersSection:
    """All layers of one target."""

    target: str
    product: str
    tokens: tuple[str, ...]
    lines: tuple[LayerLine, ...]
    figure: str
    links: tuple[Link, ...]


def layer_sections(
    catalog: Catalog, evidence: Evidence, summaries: SharedSummaries
) -> tuple[LayersSection, ...]:
    """Return a section a target that measured layers; none where nobody did."""
    tables = layer_tables(Case(catalog, evidence, summaries))
    return tuple(
        LayersSection(
            target=table.target,
            product=catalog.targets[table.target].product,
            tokens=tuple(str(tokens) for tokens in table.tokens),
            lines=tuple(layer_line(row) for row in table.rows),
            figure=layer_panels(table, f"layers-{table.target}"),
            links=tuple(
                link(f"evidence/{benchmark_path(table.target, name)}") for name in table.comparisons
            ),
        )
        for table in tables
    )


def layer_line(row: LayerRow) -> LayerLine:
    """Return one sparse layer in words."""
    return LayerLine(
        weights=f"{row.out_features} x {row.in_features}",
        zero=fmt.percent(row.zero),
        cells=tuple(_cell(point) for point in row.points),
    )


def _cell(point: LayerPoint | None) -> LayerCell:
    if point is None:
        return LayerCell(fmt.NOTHING, None, False)
    ratio = point.speedup
    return LayerCell(
        fmt.quantity(ratio.value(), "ratio"), fmt.interval(ratio.interval()), point.pays
    )


def layer_markdown(table: LayerTable) -> list[str]:
    """Return the lines of a Markdown table; bold is what pays."""
    heads = [f"{tokens} tokens" if tokens > 1 else "1 token" for tokens in table.tokens]
    lines = [f"| weights | zero | {' | '.join(heads)} |", f"|---|---:|{'---:|' * len(heads)}"]
    for row in table.rows:
        line = layer_line(row)
        cells = [_in_markdown(cell) for cell in line.cells]
        lines.append(f"| {line.weights} | {line.zero} | {' | '.join(cells)} |")
    return lines


def _in_markdown(cell: LayerCell) -> str:
    figure = f"**{cell.speedup}**" if cell.pays else cell.speedup
    return f"{figure} {cell.interval}" if cell.interval else figure
