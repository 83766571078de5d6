"""A static site over many reports: what they claim, what was measured, and who measured it again.

A report is read once, into one record. Pages are plain HTML without scripts, and link to nothing
outside; equal reports give equal bytes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from assay.base.printable import shown
from assay.findings.claim_history import HistoryEntry, HistoryLine, in_order, report_entries
from assay.findings.headline import KINDS
from assay.findings.replication import again_in_history, again_line
from assay.findings.report_comparison import GivenReport
from assay.records.attestation import PAGE
from assay.records.report_figures import ArmRate, ClaimInShort, ReportMachine
from assay.records.units import SYMBOLS
from assay.records.verdicts import Status
from assay.report import formatting as fmt
from assay.report.comparison_page import cell, page_cell
from assay.report.figures.svg import symbols, verdict_mark
from assay.report.figures.trend import TrendPoint, trend
from assay.report.quoted_report import outcome_lines
from assay.report.static_page import static_page
from assay.shared.counting import counted
from assay.shared.files import canonical_json
from assay.verification.report_archive import SUFFIX

TITLE = "GPU-kernel figures, measured again"
INDEX = "assay-site.json"
"""Names every report, claim and page for programs; a folder that has it holds a site."""
RANKS = {kind: rank for rank, kind in enumerate(KINDS)}  # in which order claims are listed
ROW_A_CLAIM = 6
"""The first rules by which a page has one row for a claim; before, each GPU had its own."""
SHOWN = 100  # measurements on a claim's page, and in its picture: the newest
FED = 50


@dataclass
class SiteReport:
    """One report, and by which further names it was given."""

    given: GivenReport
    again: list[str] = field(default_factory=list)

    @property
    def created(self) -> str:
        """Return when it was signed; empty where nobody vouches for it."""
        return self.given.figures.created or ""

    @property
    def signer(self) -> str:
        """Return who signed it: the holder of the key, else the key's name."""
        given = self.given
        return given.signer if given.holder == given.keyid else given.holder

    @property
    def folder(self) -> str:
        """Return where it lies on the site."""
        return report_folder(self.given)

    @property
    def page(self) -> str:
        """Return where its own page lies; empty where nobody vouches for it."""
        return f"{self.folder}/{self.given.figures.run}/{PAGE}" if self.given.intact else ""

    def row(self, claim: str, target: str) -> str:
        """Return what a claim's row is called on its page; ``target``: empty where it has none."""
        a_gpu = target and self.given.figures.rules < ROW_A_CLAIM
        return f"{claim}.{target}" if a_gpu else claim

    @property
    def archive(self) -> str:
        """Return where it lies as one file; empty where it was given as a folder."""
        name = Path(self.given.path).name
        return f"{self.folder}/{quote(name)}" if self.given.intact and name.endswith(SUFFIX) else ""

    @property
    def record(self) -> str:
        """Return where its figures lie for programs."""
        return f"{self.folder}/record.json" if self.given.intact else ""

    @property
    def counts(self) -> list[str]:
        """Return how its figures came out, kind by kind, in words."""
        return outcome_lines(self.given.figures)

    @property
    def products(self) -> list[str]:
        """Return its GPU products, with how many cards of each."""
        cards = {m.gpu_uuid: m.product for m in self.given.figures.machines}
        return [f"{name} ({counted(n, 'card')})" for name, n in Counter(cards.values()).items()]

    def listed(self) -> fmt.Row:
        """Return it for programs."""
        figures = self.given.figures
        return {
            "name": self.given.name, "run": figures.run, "created": figures.created,
            "keyid": self.given.keyid, "signer": self.given.holder, "note": self.given.note,
            "intact": self.given.intact, "verified": self.given.verified, "rules": figures.rules,
            "commit": figures.commit, "manifest_sha256": figures.manifest_sha256,
            "page": self.page, "archive": self.archive, "record": self.record,
            "products": self.products,
            "counts": {kind: of.statuses for kind, of in figures.counts.items()},
        }  # fmt: skip


def report_folder(given: GivenReport) -> str:
    """Return where an intact report lies on a site: what it holds names it."""
    return f"reports/{given.figures.run}-{given.figures.manifest_sha256[:12]}"


@dataclass(frozen=True)
class SiteClaim:
    """What all reports say of a claim."""

    claim: str
    said: ClaimInShort
    source: str
    lines: list[HistoryLine]
    """Each measurement once, however many reports carry it: target by target, the oldest first."""
    holders: Sequence[str]
    """Who signed the measurements of each report, by its place."""

    @property
    def measured(self) -> list[HistoryLine]:
        """Return the measurements, the oldest first."""
        return sorted((e for e in self.lines if e.last.machine), key=lambda e: e.last.at)

    @property
    def newest(self) -> list[HistoryEntry]:
        """Return what was said last on each target that has an answer; else the first of all."""
        said = [line.last for line in self.lines]
        answers = {entry.target: entry for entry in said if entry.figure.answered}
        return [*answers.values()] or said[:1]

    @property
    def signers(self) -> set[str]:
        """Return who measured it: of a measurement that several carry, who signed it first."""
        firsts = (min(line.entries, key=lambda entry: entry.signed) for line in self.measured)
        return {self.holders[entry.place] for entry in firsts}

    @property
    def cards(self) -> set[str]:
        """Return the cards that it was measured on."""
        return {on.gpu_uuid for line in self.measured if (on := line.last.machine)}

    def agreeing(self) -> str:
        """Return how many earlier verdicts by the same rules agree with the newest, in words."""
        again = again_in_history(self.lines, self.holders)
        by = again.by_others, again.by_signer
        verdicts = sum(each.verdicts for each in by)
        return f"{sum(each.agree for each in by)} of {verdicts} agree" if verdicts else ""

    def picture(self) -> str | None:
        """Return its measurements over time, in the unit of the newest; None without a number."""
        entries = [line.last for line in self.measured]
        entries = [each for each in entries if isinstance(each.figure.measured, float)]
        if not entries:
            return None
        newest = entries[-1].figure
        of_unit = [each for each in entries if each.figure.unit == newest.unit]
        claimed = newest.claimed if isinstance(newest.claimed, float) else None
        unit = SYMBOLS.get(newest.unit or "", newest.unit or "")
        return trend([_point(each) for each in of_unit[-SHOWN:]], claimed, unit)

    def listed(self) -> fmt.Row:
        """Return it for programs."""
        return {
            "claim": self.claim, "title": self.said.title, "claimed": self.said.claimed,
            "kind": self.said.kind, "source": self.source, "page": f"claims/{self.claim}.html",
            "measurements": len(self.measured), "signers": sorted(self.signers),
            "cards": sorted(self.cards), "agreeing": self.agreeing(),
            "newest": [
                {"target": e.target, "at": e.at, "status": f.status, "as_if": f.as_if,
                 "measured": f.measured, "ci90": f.ci90, "unit": f.unit,
                 "commit": e.machine.commit if e.machine else None}
                for e in self.newest for f in [e.figure]
            ],
        }  # fmt: skip


def _point(entry: HistoryEntry) -> TrendPoint:
    figure, machine = entry.figure, entry.machine
    value = figure.measured
    assert isinstance(value, float)
    return TrendPoint(
        target=entry.target,
        question=figure.question,
        value=value,
        interval=figure.ci90 or (value, value),
        status=figure.as_if or figure.status,
        hollow=figure.status is Status.ELSEWHERE,
        day=entry.at[:10],
        commit=((machine and machine.commit) or "")[:8],
        words=f"{entry.target}, {entry.at[:16].replace('T', ' ')}: {cell(figure)}",
    )


@dataclass(frozen=True)
class Ranking:
    """One problem of a comparison on one card: all ran in turns, so times can be compared."""

    machine: ReportMachine
    rates: tuple[ArmRate, ...]
    page: str

    @property
    def first(self) -> ArmRate:
        """Return one that says what all have in common."""
        return self.rates[0]

    def rows(self) -> list[fmt.Row]:
        """Return its arms, the fastest first; a rank is one more than those wholly faster."""
        slowest = max(rate.time_ms for rate in self.rates)
        lasts = [rate.ci90_ms[1] for rate in self.rates]
        ranks = [1 + sum(last < rate.ci90_ms[0] for last in lasts) for rate in self.rates]
        ranked = zip(ranks, self.rates, strict=True)
        return [
            {
                "rank": rank,
                "variant": rate.variant,
                "workload": rate.workload,
                "time": fmt.figure(rate.time_ms, "ms"),
                "interval": fmt.interval_of(rate.time_ms, "ms", rate.ci90_ms),
                "rate": fmt.rate(rate.operation, rate.tflop_per_s, rate.gb_per_s),
                "roof": fmt.percent(rate.roofline_fraction),
                "bar": f"{100 * rate.time_ms / slowest:.1f}",
            }
            for rank, rate in sorted(ranked, key=lambda each: (each[0], each[1].time_ms))
        ]


class Site:
    """The site as far as reports were taken up."""

    def __init__(self, title: str = TITLE) -> None:
        self.title = title
        self.reports: list[SiteReport] = []
        self.claims: dict[str, ClaimInShort] = {}
        self.entries: dict[str, list[HistoryEntry]] = {}

    @property
    def again(self) -> int:
        """Return how often a report was given that is there already."""
        return sum(len(report.again) for report in self.reports)

    @property
    def unverified(self) -> int:
        """Return how many reports are not even intact: no trusted key vouches for them."""
        return sum(not report.given.intact for report in self.reports)

    def add(self, given: GivenReport) -> None:
        """Take up a report; one that is intact and there already by its name alone."""
        figures, number = given.figures, len(self.reports)
        digest = figures.manifest_sha256 if given.intact else ""
        for known in self.reports:
            if known.given.intact and known.given.figures.manifest_sha256 == digest:
                known.again.append(given.name)
                return
        self.claims.update(figures.claims)
        self.reports.append(SiteReport(given))
        for entry in report_entries(number, figures):
            self.entries.setdefault(entry.figure.claim, []).append(entry)

    def pages(self, templates: Path) -> Iterator[tuple[str, str]]:
        """Yield (path, content) of every file but the reports' own. Raises BadInput for a broken
        template.
        """

        def page(path: str, template: str, **values: object) -> tuple[str, str]:
            shared = {"root": "../" * path.count("/"), "site": self, "symbols": symbols()}
            return path, shown(static_page(templates, f"site_{template}.j2", **shared, **values))

        claims = self.summaries()
        for claim in claims:
            yield page(f"claims/{claim.claim}.html", "claim.html", claim=claim,
                       lines=_told(claim), more=max(0, len(claim.lines) - SHOWN),
                       picture=claim.picture(),
                       again=again_line(again_in_history(claim.lines, claim.holders)))  # fmt: skip
        rows = [
            (each, [(e, verdict_mark(e.figure), page_cell(e.figure)) for e in each.newest])
            for each in claims
        ]
        yield page("claims.html", "claims.html", rows=rows)
        rankings = self.rankings()
        targets = sorted({each.machine.target for each in rankings})
        kernels = sorted({each.first.operation for each in rankings})
        for target in targets:
            of = [each for each in rankings if each.machine.target == target]
            title = f"{of[0].machine.product}: kernels ranked"
            yield page(f"gpus/{target}.html", "ranking.html", heading=title, rankings=of,
                       cards=self._cards(target))  # fmt: skip
        for op in kernels:
            of = [each for each in rankings if each.first.operation == op]
            title = f"{op}: implementations ranked"
            yield page(f"kernels/{op}.html", "ranking.html", heading=title, rankings=of, cards={})
        newest = sorted(self.reports, key=lambda report: report.created, reverse=True)
        measured = [each for each in claims if each.measured]
        yield page("index.html", "index.html", reports=newest, targets=targets,
                   kernels=kernels, claims=len(claims), measured=len(measured),
                   others=sum(len(each.signers) > 1 for each in measured),
                   cards=sum(len(each.cards) > 1 for each in measured))  # fmt: skip
        yield page("submit.html", "submit.html")
        fed = [report for report in newest if report.given.intact][:FED]
        yield page("feed.xml", "feed.xml", reports=fed)
        yield "site.css", static_page(templates, "site.css.j2")
        listed = {
            "schema": "assay/site/2",
            "title": self.title,
            "reports": [report.listed() for report in newest],
            "claims": [claim.listed() for claim in claims],
        }
        yield INDEX, canonical_json(listed).decode()

    def summaries(self) -> list[SiteClaim]:
        """Return every claim, published figures first."""
        holders = [report.given.measurer for report in self.reports]
        found = []
        for name, entries in self.entries.items():
            figure = entries[-1].figure
            said = self.claims.get(name) or ClaimInShort(title=name, claimed="")
            found.append(SiteClaim(name, said, figure.source, in_order(entries), holders))
        return sorted(found, key=lambda each: (RANKS.get(each.said.kind, len(RANKS)), each.claim))

    def rankings(self) -> list[Ranking]:
        """Return every problem on every target, by the newest run that timed several arms of it."""
        found: dict[tuple[str, str, str], Ranking] = {}
        for report in self.reports:
            figures = report.given.figures
            groups: dict[tuple[str, str, str], list[ArmRate]] = {}
            for rate in figures.rates if report.given.intact else ():
                groups.setdefault((rate.comparison, rate.shape, rate.target), []).append(rate)
            for key, rates in groups.items():
                machine, known = figures.machine(rates[0]), found.get(key)
                if machine is None or len(rates) < 2:
                    continue
                if known is None or known.machine.recorded_at < machine.recorded_at:
                    found[key] = Ranking(machine, tuple(rates), report.page)
        order = sorted(found.items(), key=lambda each: (each[1].first.operation, each[0]))
        return [ranking for _, ranking in order]

    def _cards(self, target: str) -> dict[str, ReportMachine]:
        every = [m for report in self.reports if report.given.intact
                 for m in report.given.figures.machines if m.target == target]  # fmt: skip
        return {m.gpu_uuid: m for m in sorted(every, key=lambda m: m.recorded_at)}


def _told(claim: SiteClaim) -> list[tuple[HistoryLine, object, str]]:
    lines = sorted(claim.lines, key=lambda line: line.last.at, reverse=True)[:SHOWN]
    return [
        (line, verdict_mark(figure), "; ".join([page_cell(figure), *line.judged_otherwise()]))
        for line in lines
        for figure in [line.last.figure]
    ]
