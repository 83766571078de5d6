"""Several reports side by side, as a page of its own."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.printable import shown
from assay.findings.given_report import GivenReport
from assay.findings.report_comparison import (
    ComparedFigure,
    PairedWorkload,
    Standing,
    compare_figures,
    differing_conditions,
    paired_workloads,
)
from assay.records.report_figures import ReportFigure
from assay.report import formatting as fmt
from assay.report.static_page import static_page


@dataclass(frozen=True)
class ComparisonView:
    """What ``compare`` shows, on whatever."""

    reports: tuple[GivenReport, ...]
    names: tuple[str, ...]
    """Each once: of two of one name the second says where it lies."""
    warnings: tuple[str, ...]
    figures: tuple[ComparedFigure, ...]
    pairs: tuple[PairedWorkload, ...]

    def of(self, standing: Standing) -> list[ComparedFigure]:
        """Return the figures that stand so."""
        return [figure for figure in self.figures if figure.standing is standing]

    @property
    def shares_a_target(self) -> bool:
        """Return whether any target was measured in two of the reports."""
        targets = [m.target for report in self.reports for m in report.figures.machines]
        return len(set(targets)) < len(targets)


def comparison_view(reports: Sequence[GivenReport], claims: Collection[str]) -> ComparisonView:
    """Return the view of reports; ``claims``: of these alone, where any is named."""
    names = _names(reports)
    figures = [report.figures for report in reports]
    rows = compare_figures(figures)
    return ComparisonView(
        reports=tuple(reports),
        names=names,
        warnings=tuple(differing_conditions(names, figures)),
        figures=tuple(row for row in rows if not claims or row.claim in claims),
        pairs=tuple(paired_workloads(figures)),
    )


def _names(reports: Sequence[GivenReport]) -> tuple[str, ...]:
    names = [report.name for report in reports]
    return tuple(
        name if names.index(name) == place else f"{name} ({reports[place].path})"
        for place, name in enumerate(names)
    )


def cell(figure: ReportFigure | None, *, words: bool = False) -> str:
    """Return one report's figure with status, interval and cause, in codes or in ``words``."""
    if figure is None:
        return "absent"
    said = figure.status.word if words else figure.status.value
    if figure.as_if is not None:
        said += f" (there: {figure.as_if.word if words else figure.as_if.value})"
    if figure.measured is None:
        reason = figure.reason or "no figure"
        return f"{said} ({fmt.words(reason) if words else reason})"
    said += f": {fmt.quantity(figure.measured, figure.unit)}"
    if figure.ci90 is not None:
        said += f" {fmt.interval(figure.ci90)}"
    if figure.why is None:
        return said
    return f"{said} ({figure.why.short if words else figure.why.value})"


def difference(figure: ComparedFigure) -> str:
    """Return how far the last figure lies from the first."""
    if figure.asked_otherwise:
        return "measured otherwise"
    if figure.difference is None:
        return ""
    return f"{100 * figure.difference:+.2g}\N{NO-BREAK SPACE}%"


def pair_cells(pair: PairedWorkload) -> tuple[str, ...]:
    """Return the cells of two products: workload, arm, then each product's rate and share of its
    roof, then the ratio.
    """
    rates = [
        f"{fmt.quantity(rate.tflop_per_s, 'tflop_per_s')} {fmt.interval(rate.ci90)}, "
        f"{fmt.percent(rate.roofline_fraction)} of the roof"
        for rate in pair.rates
    ]
    ratio = f"{fmt.quantity(pair.ratio, 'ratio')} {fmt.interval(pair.ci90)}"
    return (pair.workload, f"{pair.arm} of {pair.comparison}", *rates, ratio)


def comparison_page(templates: Path, view: ComparisonView) -> str:
    """Return the page: no script, no link outside. Raises BadInput for a broken template."""
    parts = [
        (
            title,
            [
                (row, difference(row), [cell(each, words=True) for each in row.figures])
                for row in rows
            ],
        )
        for title, rows in (
            ("Changed", view.of(Standing.CHANGED)),
            ("Shifted beyond both intervals", view.of(Standing.SHIFTED)),
            ("The rest", view.of(Standing.REST)),
        )
    ]
    pairs = [(pair, pair_cells(pair)) for pair in view.pairs]
    return shown(static_page(templates, "compare.html.j2", view=view, parts=parts, pairs=pairs))
