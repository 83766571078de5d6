"""The report on linear layers: from which share of zeros and how many tokens on sparse ones pay."""

from collections.abc import Sequence
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
    pays: str
    """From which share of zeros on, in a sentence."""
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
            pays=pays_sentence(table),
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
        zero=fmt.declared_percent(row.zero),
        cells=tuple(_cell(point) for point in row.points),
    )


def _cell(point: LayerPoint | None) -> LayerCell:
    if point is None:
        return LayerCell(fmt.NOTHING, None, False)
    ratio = point.speedup
    return LayerCell(
        fmt.quantity(ratio.value(), "ratio"), fmt.interval(ratio.interval()), point.pays
    )


def pays_sentence(table: LayerTable) -> str:
    """Return from which share of zeros on sparse layers are faster, by number of tokens."""
    by_share: dict[float | None, list[int]] = {}
    for tokens, zero in table.pays_from().items():
        by_share.setdefault(zero, []).append(tokens)
    told = (
        f"with {_tokens(tokens)} {_from(zero)}"
        for zero, tokens in sorted(by_share.items(), key=lambda entry: entry[1])
    )
    return f"Every sparse layer measured is faster than the dense one: {'; '.join(told)}."


def _tokens(numbers: Sequence[int]) -> str:
    """Return numbers of tokens in words; they rise."""
    *others, last = map(str, numbers)
    named = f"{', '.join(others)} or {last}" if others else last
    return f"{named} token" if named == "1" else f"{named} tokens"


def _from(zero: float | None) -> str:
    return "at no share tried" if zero is None else f"from {fmt.declared_percent(zero)} zeros on"


def layer_markdown(table: LayerTable) -> list[str]:
    """Return the lines of a Markdown table; bold is what pays."""
    heads = [_tokens([tokens]) for tokens in table.tokens]
    lines = [f"| weights | zero | {' | '.join(heads)} |", f"|---|---:|{'---:|' * len(heads)}"]
    for row in table.rows:
        line = layer_line(row)
        cells = [_in_markdown(cell) for cell in line.cells]
        lines.append(f"| {line.weights} | {line.zero} | {' | '.join(cells)} |")
    return lines


def _in_markdown(cell: LayerCell) -> str:
    figure = f"**{cell.speedup}**" if cell.pays else cell.speedup
    return f"{figure} {cell.interval}" if cell.interval else figure
