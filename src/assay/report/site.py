"""A static site over many reports: a matrix of claims and reports, a page a claim, a page a report.

Reports are taken up one by one and kept as a few strings a figure, so that thousands of them fit
into memory. Pages are plain HTML without scripts; equal reports give equal bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TypeVar

from assay.base.printable import shown
from assay.findings.claim_history import HistoryEntry, HistoryLine, in_order, report_entries
from assay.findings.claimed_figures import claimed_figure
from assay.findings.given_report import GivenReport
from assay.findings.headline import KINDS
from assay.records.report_figures import ClaimInShort, ReportFigure
from assay.records.verdicts import Status
from assay.report.badge import badge, badge_words
from assay.report.comparison_page import carriers, cell, judged_otherwise
from assay.report.earlier_runs import earlier_words
from assay.report.static_page import static_page

T = TypeVar("T")
REPORTS_A_PAGE = 100
"""Columns of a matrix, and lines of the list of reports: a page of both stays below 1 MB."""
RANKS = {kind: rank for rank, kind in enumerate(KINDS)}
"""In which order the matrix has claims."""
RUNS_A_PAGE = 2000
"""Rows of a claim's page."""
LETTERS = {
    Status.REPRODUCED: "R", Status.EXCEEDED: "E", Status.NOT_REPRODUCED: "N", Status.MISSTATED: "M",
    Status.ELSEWHERE: "w", Status.INCONCLUSIVE: "?", Status.INCORRECT: "X", Status.CONSISTENT: "c",
    Status.INCONSISTENT: "i", Status.NOT_RUN: "-",
}  # fmt: skip
"""What stands in a matrix; a status that is not here stands as its first letter."""
ON_ANOTHER_GPU = "\N{DEGREE SIGN}"
"""Behind the letter of what a figure would be that was measured on another GPU than its source
names."""


@dataclass(frozen=True)
class SiteReport:
    """One report, as the site tells of it."""

    name: str
    file: str
    """Of its page, without the ending."""
    verified: bool
    intact: bool
    note: str
    created: str
    commit: str
    rules: int
    manifest_sha256: str
    cards: tuple[str, ...]
    badge: str
    badge_says: str
    """The same in words, for who does not see it."""
    claims: Mapping[str, ClaimInShort]
    """What it says that its sources claim; nothing where nobody vouches for it."""
    again: tuple[str, ...] = ()
    """By which names the same report was given again."""

    def claimed(self, figure: ReportFigure) -> str:
        """Return what it says that a source claims."""
        said = self.claims.get(figure.claim)
        return said.claimed if said else claimed_figure(figure.claimed, figure.unit)


@dataclass
class Site:
    """The site as far as reports were taken up."""

    reports: list[SiteReport] = field(default_factory=list)
    claims: dict[str, ClaimInShort] = field(default_factory=dict)
    """As the last report has them that verified and says what they are."""
    entries: dict[str, list[HistoryEntry]] = field(default_factory=dict)
    """By claim. A figure of a report is one object, shared by all pages that tell of it."""
    places: dict[str, int] = field(default_factory=dict)
    """Of the reports that are intact, by the digest of their manifest."""

    @property
    def again(self) -> int:
        """Return how often a report was given that is there already."""
        return sum(len(report.again) for report in self.reports)

    @property
    def unverified(self) -> int:
        """Return how many reports are not even intact: no trusted key vouches for them."""
        return sum(not report.intact for report in self.reports)

    def add(self, given: GivenReport) -> None:
        """Take up a report; one that is intact and there already by its name alone."""
        figures, place = given.figures, len(self.reports)
        if given.intact:
            first = self.places.setdefault(figures.manifest_sha256, place)
            if first != place:
                known = self.reports[first]
                self.reports[first] = replace(known, again=(*known.again, given.name))
                return
        headline = figures.headline if given.intact else None
        # Reports of one catalog share one object.
        alike = [each.claims for each in self.reports[-1:] if each.claims == figures.claims]
        self.claims.update(figures.claims)
        self.reports.append(
            SiteReport(
                name=given.name,
                file=f"{place:04d}-{figures.run}",
                verified=given.verified,
                intact=given.intact,
                note=given.note,
                created=figures.created or "",
                commit=(figures.commit or "")[:12],
                rules=figures.rules,
                manifest_sha256=figures.manifest_sha256,
                cards=tuple(f"{m.target}: {m.product} {m.gpu_uuid}" for m in figures.machines),
                badge=badge(headline),
                badge_says=badge_words(headline),
                claims=alike[0] if alike else figures.claims,
            )
        )
        for entry in report_entries(place, figures):
            self.entries.setdefault(entry.figure.claim, []).append(entry)

    def pages(self, templates: Path) -> Iterator[tuple[str, str]]:
        """Yield (path, content) of every file. Raises BadInput for a broken template."""
        yield "site.css", static_page(templates, "site.css.j2")
        yield from self._overview(templates)
        of_reports: list[list[HistoryEntry]] = [[] for _ in self.reports]
        for claim in sorted(self.entries):
            for entry in self.entries[claim]:
                of_reports[entry.place].append(entry)
            yield from self._claim(templates, claim)
        for report, entries in zip(self.reports, of_reports, strict=True):
            yield f"reports/{report.file}.svg", report.badge
            rows = "\n".join(self._report_row(report, entry) for entry in entries)
            yield (
                f"reports/{report.file}.html",
                _page(templates, "site_report.html.j2", rows, report=report),
            )

    def _overview(self, templates: Path) -> Iterator[tuple[str, str]]:
        """Yield the pages of the list of reports, each with the matrix of its reports."""
        parts = list(_parts(list(range(len(self.reports))), REPORTS_A_PAGE)) or [[]]
        letters: dict[str, dict[int, str]] = {
            claim: _letters(self.entries[claim]) for claim in sorted(self.entries, key=self._rank)
        }
        names = [_numbered("index", number) for number in range(len(parts))]
        for name, part in zip(names, parts, strict=True):
            rows = "\n".join(
                self._matrix_row(claim, found, part) for claim, found in letters.items()
            )
            yield (
                f"{name}.html",
                _page(
                    templates,
                    "site_index.html.j2",
                    rows,
                    reports=[(place, self.reports[place]) for place in part],
                    pages=[f"{each}.html" for each in names],
                    this=f"{name}.html",
                    signed=sum(report.intact for report in self.reports),
                    again=self.again,
                    other_rules=sum(each.intact and not each.verified for each in self.reports),
                    unverified=self.unverified,
                    legend=[
                        (letter, status.word)
                        for status, letter in LETTERS.items()
                        if status is not Status.ELSEWHERE
                    ],
                    on_another_gpu=ON_ANOTHER_GPU,
                ),
            )

    def _rank(self, claim: str) -> tuple[int, str]:
        """Return where a claim stands in the matrix: published figures first, as on a page."""
        said = self.claims.get(claim)
        return RANKS.get(said.kind if said else "", len(RANKS)), claim

    def _claim(self, templates: Path, claim: str) -> Iterator[tuple[str, str]]:
        lines = in_order(self.entries[claim])
        parts = list(_parts(lines, RUNS_A_PAGE))
        names = [_numbered(claim, number) for number in range(len(parts))]
        said = self.claims.get(claim)
        figure = lines[-1].last.figure
        for name, part in zip(names, parts, strict=True):
            rows = "\n".join(map(self._claim_row, part))
            yield (
                f"claims/{name}.html",
                _page(
                    templates,
                    "site_claim.html.j2",
                    rows,
                    claim=claim,
                    title=said.title if said else claim,
                    claimed=said.claimed if said else claimed_figure(figure.claimed, figure.unit),
                    source=figure.source,
                    pages=[f"{each}.html" for each in names],
                    this=f"{name}.html",
                    measured=sum(line.last.machine is not None for line in lines),
                    reports=len({entry.place for line in lines for entry in line.entries}),
                    changes=sum(line.before is not None for line in lines),
                ),
            )

    def _claim_row(self, line: HistoryLine) -> str:
        last, on = line.last, line.last.machine
        before = [] if line.before is None else [f"<b>{line.before} before</b>"]
        at = last.at[:16].replace("T", " ") if on else f"signed {last.at[:10]}"
        mark = "" if self.reports[last.place].intact else ' class="unverified"'
        machine = (
            f"<td>{escape(on.gpu_uuid[:12])}<td>{escape(on.driver)}<td>{(on.commit or '')[:12]}"
            if on
            else "<td><td><td>"
        )
        reports = {entry.place: self.reports[entry.place] for entry in line.entries}
        links = {
            place: f'<a href="../reports/{report.file}.html">{escape(report.name)}</a>'
            for place, report in reports.items()
        }
        earlier = line.earlier and earlier_words(line, self.reports[line.earlier.place].name)
        told = [cell(last.figure), *judged_otherwise(line), *([earlier] if earlier else [])]
        verdict = "; ".join(told)
        return (
            f"<tr{mark}><td>{escape(last.target)}<td>{escape(at)}<td>{carriers(line, links)}"
            f"<td>{escape(verdict)}<td>{', '.join([*before, *line.changed])}{machine}"
        )

    def _report_row(self, report: SiteReport, entry: HistoryEntry) -> str:
        figure = entry.figure
        return (
            f"<tr><td>{self._linked(figure.claim, '../')}<td>{escape(entry.target)}"
            f"<td>{escape(report.claimed(figure))}<td>{escape(cell(figure))}"
        )

    def _matrix_row(self, claim: str, letters: Mapping[int, str], part: Sequence[int]) -> str:
        cells = "".join(f"<td>{letters.get(place, '')}" for place in part)
        said = self.claims.get(claim)
        claimed = escape(said.claimed if said else "")
        return f'<tr><th scope="row">{self._linked(claim)}<td>{claimed}{cells}'

    def _linked(self, claim: str, up: str = "") -> str:
        """Return a claim's title as a link to its page, and its id; of one without title the id."""
        link, said = f'<a href="{up}claims/{claim}.html">', self.claims.get(claim)
        if said is None:
            return f"{link}{claim}</a>"
        return f"{link}{escape(said.title)}</a><br><small>{claim}</small>"


def _letters(entries: Sequence[HistoryEntry]) -> dict[int, str]:
    """Return what each report says of a claim, a sign a target that answers it, by its place."""
    figures: dict[int, list[ReportFigure]] = {}
    for entry in entries:
        figures.setdefault(entry.place, []).append(entry.figure)
    return {place: "".join(map(_sign, _to_tell(of))) for place, of in figures.items()}


def _to_tell(figures: Sequence[ReportFigure]) -> Sequence[ReportFigure]:
    """Return the figures of a claim without what was not run, where another GPU has an answer."""
    return [each for each in figures if each.status is not Status.NOT_RUN] or figures[:1]


def _sign(figure: ReportFigure) -> str:
    """Return a verdict's letter, marked where another GPU has the figure than the source names, and
    in brackets where another report's run measured it.
    """
    status = figure.as_if or figure.status
    away = ON_ANOTHER_GPU if figure.as_if else ""
    sign = f"{LETTERS.get(status, status.value[:1])}{away}"
    return f"({sign})" if figure.taken_over else sign


def _page(templates: Path, name: str, rows: str, **values: object) -> str:
    """Return a page around rows that are HTML already."""
    return shown(static_page(templates, name, **values).replace("<!-- rows -->", rows, 1))


def _parts(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), most):
        yield items[start : start + most]


def _numbered(name: str, number: int) -> str:
    """Return the name of the first page as it is, of further ones with their number."""
    return name if not number else f"{name}-{number + 1}"
