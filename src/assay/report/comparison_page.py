"""Several reports side by side, as a page of its own."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.printable import shown
from assay.findings import report_comparison as comparing
from assay.findings.claim_history import HistoryLine
from assay.findings.headline import KINDS
from assay.findings.replication import again_between, again_line
from assay.findings.report_comparison import ComparedFigure, GivenReport, Standing
from assay.records.report_figures import ReportFigure
from assay.report import formatting as fmt
from assay.report.static_page import static_page
from assay.shared.counting import counted

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

    def of(self, standing: Standing) -> list[ComparedFigure]:
        """Return the figures that stand so."""
        return [figure for figure in self.figures if figure.standing is standing]

    @property
    def measurements(self) -> list[ComparedFigure]:
        """Return what the figures are of, each measurement once."""
        return comparing.counted_once(self.figures)

    def counts(self) -> tuple[str, ...]:
        """Return how many measurements stand how: a sentence a kind of what a page counts apart,
        each without its end, published speed figures first.
        """
        kinds = {k: [m for m in self.measurements if m.kind == k] for k in KINDS}
        return tuple(f"{counted(len(of), *KINDS[k])}: {_told(of)}" for k, of in kinds.items() if of)

    def heading(self, standing: Standing) -> str:
        """Return the title of a part, with how many it has."""
        rows = len(self.of(standing))
        once = sum(each.standing is standing for each in self.measurements)
        return f"{TITLES[standing]}: {once}{'' if once == rows else f' counted, in {rows} lines'}"


def _told(leads: Sequence[ComparedFigure]) -> str:
    held = [row for row in leads if row.standing is Standing.REST and row.held_together]
    taken = sum(row.one_measurement for row in held)
    same = f" ({taken} of them one measurement, taken over)" if taken else ""
    numbers = Counter(row.standing for row in leads)
    told = (
        (numbers[Standing.CHANGED], "changed"),
        (numbers[Standing.SHIFTED], "shifted beyond both intervals"),
        (len(held), f"alike{same}"),
        (numbers[Standing.SOME], "answered in some of the reports alone"),
        (numbers[Standing.REST] - len(held), "not run"),
    )
    return ", ".join(f"{number} {words}" for number, words in told if number)


def comparison_view(reports: Sequence[GivenReport], claims: Collection[str]) -> ComparisonView:
    """Return the view of reports; ``claims``: of these alone, where any is named."""
    given = [report.name for report in reports]
    names = tuple(
        name if given.index(name) == place else f"{name} ({reports[place].path})"
        for place, name in enumerate(given)
    )
    figures = [report.figures for report in reports]
    rows = comparing.compare_figures(figures)
    return ComparisonView(
        reports=tuple(reports),
        names=names,
        products=comparing.differing_products(names, figures),
        warnings=tuple(comparing.differing_conditions(names, figures)),
        figures=tuple(row for row in rows if not claims or row.claim in claims),
    )


def cell(figure: ReportFigure | None) -> str:
    """Return one report's figure with status, interval and cause, in words."""
    if figure is None:
        return "not in this report"
    said = figure.said
    if figure.measured is None:
        return f"{said} ({fmt.words(figure.reason or 'no figure')})"
    said += f": {fmt.with_interval(figure.measured, figure.unit, figure.ci90, figure.claimed)}"
    return said if figure.why is None else f"{said} ({figure.why.short})"


def carriers(line: HistoryLine, names: Mapping[int, str]) -> str:
    """Return which reports a line stands in: whose run it is, and which took it over; ``names``: of
    reports, by their place.
    """
    own, later = (", ".join(names[entry.place] for entry in part) for part in line.by_run)
    return "; ".join([*([own] if own else []), *([f"taken over by {later}"] if later else [])])


def difference(figure: ComparedFigure) -> str:
    """Return how far the last figure lies from the first."""
    if figure.asked_otherwise or figure.one_measurement:
        return "measured otherwise" if figure.asked_otherwise else "one measurement"
    moved = figure.difference
    return "" if moved is None else f"{100 * moved:+.2g}\N{NO-BREAK SPACE}%"


def page_cell(figure: ReportFigure | None) -> str:
    """Return what ``cell`` does, for a page: an interval stays on one line."""
    return _INTERVAL.sub(lambda found: fmt.unbroken(found[0]), cell(figure))


def _page_row(row: ComparedFigure) -> tuple[ComparedFigure, str, str, list[str]]:
    """Return a row's cells; a figure stays on one line with its unit."""
    return row, fmt.unbroken(row.claimed), difference(row), [page_cell(f) for f in row.figures]


def comparison_page(templates: Path, view: ComparisonView) -> str:
    """Return the page: no script, no link outside. Raises BadInput for a broken template."""
    parts = [
        (view.heading(standing), TITLES[standing], [_page_row(row) for row in view.of(standing)])
        for standing in Standing
    ]
    again = again_line(again_between(view.reports))
    return shown(static_page(templates, "compare.html.j2", view=view, parts=parts, again=again))
