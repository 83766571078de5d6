"""A static site over many reports: a matrix of claims and reports, a page a claim, a page a report.

Reports are taken up one by one and kept as a few strings a figure, so that thousands of them fit
into memory. Pages are plain HTML without scripts; equal reports give equal bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.base.printable import shown
from assay.findings.claim_history import HistoryEntry, in_order, report_entries
from assay.findings.claimed_figures import claimed_figure
from assay.findings.given_report import GivenReport
from assay.findings.headline import KINDS
from assay.findings.replication import again_in_history, again_line
from assay.records.report_figures import ClaimInShort, ReportFigure, ReportFigures
from assay.records.verdicts import Status
from assay.report.comparison_page import cell, judged_otherwise
from assay.report.formatting import Row
from assay.report.quoted_report import badge, badge_words
from assay.report.static_page import static_page

RANKS = {kind: rank for rank, kind in enumerate(KINDS)}
"""In which order the matrix has claims."""
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
    holder: str
    """Who signs with the key that signed it; empty where none is trusted."""
    figures: ReportFigures
    """Without the figures themselves."""
    badge: str
    badge_says: str
    """The same in words, for who does not see it."""
    again: tuple[str, ...] = ()
    """By which names the same report was given again."""

    @property
    def manifest_sha256(self) -> str:
        """Return the digest that names its bytes."""
        return self.figures.manifest_sha256

    def claimed(self, figure: ReportFigure) -> str:
        """Return what it says that a source claims."""
        said = self.figures.claims.get(figure.claim)
        return said.claimed if said else claimed_figure(figure.claimed, figure.unit)


@dataclass
class Site:
    """The site as far as reports were taken up."""

    reports: list[SiteReport] = field(default_factory=list)
    claims: dict[str, ClaimInShort] = field(default_factory=dict)
    """As the last report has them that verified and says what they are."""
    entries: dict[str, list[HistoryEntry]] = field(default_factory=dict)
    """By claim. A figure of a report is one object, shared by all pages that tell of it."""

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
        figures, number = given.figures, len(self.reports)
        for place, known in enumerate(self.reports if given.intact else ()):
            if known.intact and known.manifest_sha256 == figures.manifest_sha256:
                self.reports[place] = replace(known, again=(*known.again, given.name))
                return
        headline = figures.headline if given.intact else None
        self.claims.update(figures.claims)
        self.reports.append(
            SiteReport(
                name=given.name,
                file=f"{number:04d}-{figures.run}",
                verified=given.verified,
                intact=given.intact,
                note=given.note,
                holder=given.holder,
                figures=figures.model_copy(update={"figures": (), "rates": ()}),
                badge=badge(headline),
                badge_says=badge_words(headline),
            )
        )
        for entry in report_entries(number, figures):
            self.entries.setdefault(entry.figure.claim, []).append(entry)

    def pages(self, templates: Path) -> Iterator[tuple[str, str]]:
        """Yield (path, content) of every file. Raises BadInput for a broken template."""
        yield "site.css", static_page(templates, "site.css.j2")
        yield "index.html", _page(templates, "site_index", self._overview())
        of_reports: list[list[HistoryEntry]] = [[] for _ in self.reports]
        for claim in sorted(self.entries):
            for entry in self.entries[claim]:
                of_reports[entry.place].append(entry)
            yield f"claims/{claim}.html", _page(templates, "site_claim", self._claim(claim))
        for report, entries in zip(self.reports, of_reports, strict=True):
            yield f"reports/{report.file}.svg", report.badge
            rows = [
                (each.figure.claim, self.claims.get(each.figure.claim), each.target,
                 report.claimed(each.figure), cell(each.figure))
                for each in entries
            ]  # fmt: skip
            values: Row = {"report": report, "rows": rows}
            yield f"reports/{report.file}.html", _page(templates, "site_report", values)

    def _overview(self) -> Row:
        """Return the list of reports and the matrix: published figures first, as on a page."""
        ranks = {
            claim: RANKS.get(said.kind if (said := self.claims.get(claim)) else "", len(RANKS))
            for claim in self.entries
        }
        signed = [report for report in self.reports if report.intact]
        return {
            "reports": self.reports,
            "rows": [
                (claim, self.claims.get(claim), letters(self.entries[claim]))
                for claim in sorted(ranks, key=lambda claim: (ranks[claim], claim))
            ],
            "signed": len(signed),
            "again": self.again,
            "other_rules": sum(not each.verified for each in signed),
            "unverified": self.unverified,
            "legend": [(sign, s.word) for s, sign in LETTERS.items() if s is not Status.ELSEWHERE],
            "on_another_gpu": ON_ANOTHER_GPU,
        }

    def _claim(self, claim: str) -> Row:
        lines = in_order(self.entries[claim])
        said, figure = self.claims.get(claim), lines[-1].last.figure
        return {
            "claim": claim,
            "title": said.title if said else claim,
            "claimed": said.claimed if said else claimed_figure(figure.claimed, figure.unit),
            "source": figure.source,
            "lines": [
                (line, "; ".join([cell(line.last.figure), *judged_otherwise(line)]))
                for line in lines
            ],
            "reports": self.reports,
            "measured": sum(line.last.machine is not None for line in lines),
            "tell": len({entry.place for line in lines for entry in line.entries}),
            "changes": sum(line.before is not None for line in lines),
            "again": again_line(again_in_history(lines, [each.holder for each in self.reports])),
        }


def letters(entries: Sequence[HistoryEntry]) -> dict[int, str]:
    """Return what each report says of a claim, by its place: a sign a target that answers it.

    What was not run is left out where another GPU has an answer.
    """
    found: dict[int, list[ReportFigure]] = {}
    for entry in entries:
        found.setdefault(entry.place, []).append(entry.figure)
    answers = {
        place: [each for each in figures if each.status is not Status.NOT_RUN] or figures[:1]
        for place, figures in found.items()
    }
    return {place: "".join(map(_sign, figures)) for place, figures in answers.items()}


def _sign(figure: ReportFigure) -> str:
    """Return a verdict's letter, marked where another GPU has the figure than the source names, and
    in brackets where another report's run measured it.
    """
    status = figure.as_if or figure.status
    sign = LETTERS.get(status, status.value[:1]) + (ON_ANOTHER_GPU if figure.as_if else "")
    return f"({sign})" if figure.taken_over else sign


def _page(templates: Path, name: str, values: Row) -> str:
    return shown(static_page(templates, f"{name}.html.j2", **values))
