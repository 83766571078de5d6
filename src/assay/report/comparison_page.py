"""Several reports side by side, as a page of its own."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.printable import shown
from assay.findings.claim_history import HistoryLine
from assay.findings.given_report import GivenReport
from assay.findings.report_comparison import (
    ComparedFigure,
    PairedWorkload,
    Standing,
    compare_figures,
    differing_conditions,
    differing_products,
    paired_workloads,
)
from assay.records.report_figures import ReportFigure
from assay.report import formatting as fmt
from assay.report.static_page import static_page
from assay.shared.counting import agreeing, counted

_INTERVAL = re.compile(r"\[[^\]]*\]")
TITLES = {
    Standing.CHANGED: "Changed",
    Standing.SHIFTED: "Shifted beyond both intervals",
    Standing.SOME: "Answered in some of the reports alone",
    Standing.REST: "The rest",
}


@dataclass(frozen=True)
class ComparisonView:
    """What ``compare`` shows, on whatever."""

    reports: tuple[GivenReport, ...]
    names: tuple[str, ...]
    """Each once: of two of one name the second says where it lies."""
    products: str | None
    """What a reader must know first: that reports measured different GPU products."""
    warnings: tuple[str, ...]
    figures: tuple[ComparedFigure, ...]
    pairs: tuple[PairedWorkload, ...]

    def of(self, standing: Standing) -> list[ComparedFigure]:
        """Return the figures that stand so."""
        return [figure for figure in self.figures if figure.standing is standing]

    @property
    def shares_a_product(self) -> bool:
        """Return whether any GPU product was measured in two of the reports."""
        measured = [{m.product for m in report.figures.machines} for report in self.reports]
        return sum(map(len, measured)) > len(set().union(*measured))

    def counts(self) -> str:
        """Return how many figures stand how, in a sentence without its end."""
        changed, shifted = self.of(Standing.CHANGED), self.of(Standing.SHIFTED)
        some, rest = self.of(Standing.SOME), self.of(Standing.REST)
        held = [row for row in rest if row.held_together]
        taken = sum(row.one_measurement for row in held)
        same = f" ({taken} of them one measurement, taken over)" if taken else ""
        one = agreeing(len(some), "stands", "stand")
        unmeasured = len(rest) - len(held)
        no = agreeing(unmeasured, "was not run, or rests", "were not run, or rest")
        return (
            f"{counted(len(changed), 'figure')} changed, {len(shifted)} shifted beyond both "
            f"intervals, {len(held)} did neither{same}; {len(some)} {one} in some of the reports "
            f"alone; {unmeasured} {no} on no measurement"
        )


def comparison_view(reports: Sequence[GivenReport], claims: Collection[str]) -> ComparisonView:
    """Return the view of reports; ``claims``: of these alone, where any is named."""
    names = _names(reports)
    figures = [report.figures for report in reports]
    rows = compare_figures(figures)
    return ComparisonView(
        reports=tuple(reports),
        names=names,
        products=differing_products(names, figures),
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


def cell(figure: ReportFigure | None) -> str:
    """Return one report's figure with status, interval and cause, in words."""
    if figure is None:
        return "not in this report"
    said = figure.said
    if figure.measured is None:
        return f"{said} ({fmt.words(figure.reason or 'no figure')})"
    said += f": {fmt.figure(figure.measured, figure.unit, figure.claimed)}"
    if figure.ci90 is not None:
        said += f" {fmt.interval_of(figure.measured, figure.unit, figure.ci90, figure.claimed)}"
    return said if figure.why is None else f"{said} ({figure.why.short})"


def judged_otherwise(line: HistoryLine) -> tuple[str, ...]:
    """Return in words how earlier reports judged the same measurement, where that is otherwise."""
    return tuple(f"{status} by rules {rules}" for rules, status in line.judged_otherwise())


def difference(figure: ComparedFigure) -> str:
    """Return how far the last figure lies from the first."""
    if figure.asked_otherwise:
        return "measured otherwise"
    if figure.one_measurement:
        return "one measurement"
    if figure.difference is None:
        return ""
    return f"{100 * figure.difference:+.2g}\N{NO-BREAK SPACE}%"


def pair_cells(pair: PairedWorkload) -> tuple[str, ...]:
    """Return the cells of two products: what ran, by what, then each product's rate and share of
    its roof, then the ratio, then the workload's id.
    """
    rates = [
        f"{fmt.figure(rate.tflop_per_s, 'tflop_per_s')} "
        f"{fmt.interval_of(rate.tflop_per_s, 'tflop_per_s', rate.ci90)}, "
        f"{fmt.percent(rate.roofline_fraction)} of the roof"
        for rate in pair.rates
    ]
    ratio = f"{fmt.quantity(pair.ratio, 'ratio')} {fmt.interval(pair.ci90)}"
    return (pair.variant_title, pair.comparison_title, *rates, ratio, pair.workload)


def _page_row(row: ComparedFigure) -> tuple[ComparedFigure, str, str, list[str]]:
    """Return a row's cells; a figure stays on one line with its unit, an interval with its ends."""
    cells = [_INTERVAL.sub(lambda found: fmt.unbroken(found[0]), cell(f)) for f in row.figures]
    return row, fmt.unbroken(row.claimed), difference(row), cells


def comparison_page(templates: Path, view: ComparisonView) -> str:
    """Return the page: no script, no link outside. Raises BadInput for a broken template."""
    parts = [
        (TITLES[standing], [_page_row(row) for row in rows])
        for standing in Standing
        for rows in [view.of(standing)]
    ]
    pairs = [(pair, pair_cells(pair)) for pair in view.pairs]
    return shown(static_page(templates, "compare.html.j2", view=view, parts=parts, pairs=pairs))
