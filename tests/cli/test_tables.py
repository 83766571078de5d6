"""Tables leave columns out where a terminal is narrow, and break no id at any width."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.cli import console
from assay.cli.comparison_output import show_comparison
from assay.cli.listing import claim_rows
from assay.cli.result_tables import show_claims
from assay.cli.tables import TableColumn, fit, show_table
from assay.findings.given_report import GivenReport
from assay.findings.report_comparison import Standing
from assay.findings.report_figures import UNWRITTEN, figures_of_verdicts
from assay.records.verdicts import VerdictsFile
from assay.report.comparison_page import comparison_view
from assay.verification.report_archive import report_name
from assay.verification.trust import published_reports

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = (60, 72, 80, 100, 120, 200, 300)
COLUMNS = (
    TableColumn("claim"),
    TableColumn("figure", 2, number=True),
    TableColumn("what it says", 3, prose=True),
    TableColumn("target", 1),
)
ROWS = [
    ("s003_audit_effective_below_actual", "14.75", "Rates of stored blocks, of whole ones", "h100"),
    ("s000_tma_cooperative_bandwidth", "2", "One\tline\nand no more", "l4"),
]


class Terminal(io.StringIO):
    """A stream that says a person reads it."""

    def isatty(self) -> bool:
        return True


def shown(width: int, columns: Sequence[TableColumn], rows: Sequence[Sequence[str]]) -> str:
    """What a terminal of ``width`` gets."""
    stream = Terminal()
    out = Console(file=stream, width=width, force_terminal=False)
    show_table(out, Console(file=io.StringIO()), "some claims", columns, rows)
    return stream.getvalue()


def headings(text: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith("┃")][:1]
    return [cell.strip() for cell in line.strip("┃").split("┃")]


class TestATerminal:
    """Whole columns go, by rank, and one line says which."""

    @pytest.mark.parametrize(
        ("width", "left"),
        [
            (46, ["what it says", "figure"]),
            (60, ["what it says"]),
            (78, []),
        ],
    )
    def test_the_least_important_column_goes_first(self, width: int, left: list[str]) -> None:
        text = shown(width, COLUMNS, ROWS)
        names = [column.heading for column in COLUMNS]
        assert headings(text) == [name for name in names if name not in left]
        below = " ".join(text.rpartition("┘")[2].split())
        if left:
            missing = ", ".join(name for name in names if name in left)
            assert below.startswith(f"left out for want of width: {missing} (")
        else:
            assert below == ""

    @pytest.mark.parametrize("width", WIDTHS)
    def test_no_line_is_longer_than_the_terminal(self, width: int) -> None:
        table = [line for line in shown(width, COLUMNS, ROWS).splitlines() if line[0] in "┃│┏└"]
        assert table
        assert all(len(line) <= width for line in table)

    def test_sentences_break_between_words_only(self) -> None:
        text = shown(80, COLUMNS, ROWS)
        for word in ROWS[0][2].split():
            assert word in text.split()

    def test_where_nothing_fits_a_record_is_lines_of_its_own(self) -> None:
        assert fit(COLUMNS, ROWS, 36) is None
        lines = shown(36, COLUMNS, ROWS).splitlines()
        assert lines[1:3] == ["s003_audit_effective_below_actual", "  figure: 14.75"]
        assert "  what it says: Rates of stored" in lines
        assert "    blocks, of whole ones" in lines

    def test_the_title_stands_above(self) -> None:
        assert shown(80, COLUMNS, ROWS).startswith("some claims\n")


class TestAProgram:
    """Tabs between the cells, a line of headings, one record a line, nothing left out."""

    def test_a_record_is_one_line(self) -> None:
        stream, err = io.StringIO(), io.StringIO()
        out = Console(file=stream, width=20, force_terminal=True)
        show_table(out, Console(file=err), "some claims", COLUMNS, ROWS)
        assert [line.split("\t") for line in stream.getvalue().splitlines()] == [
            ["claim", "figure", "what it says", "target"],
            list(ROWS[0]),
            ["s000_tma_cooperative_bandwidth", "2", "One line and no more", "l4"],
        ]
        assert err.getvalue() == "some claims\n"


class TestTheCommandsTables:
    """Every id of the repository is whole in every table at every width."""

    @pytest.fixture(params=WIDTHS)
    def screen(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Terminal:
        stream = Terminal()
        monkeypatch.setattr(console, "out", Console(file=stream, width=request.param))
        return stream

    def test_claims(self, screen: Terminal) -> None:
        newest = published_reports(ROOT)[0]
        verdicts = read_record(VerdictsFile, newest / "verdicts.json").verdicts
        rows = claim_rows(load_catalog(ROOT), verdicts)
        show_claims(rows, newest.name)
        words = screen.getvalue().split()
        assert {row["claim"] for row in rows} <= set(words)
        assert "verdict" in words

    def test_compare(self, screen: Terminal) -> None:
        names = [report_name(report) for report in published_reports(ROOT)]
        file = read_record(VerdictsFile, published_reports(ROOT)[0] / "verdicts.json")
        figures = figures_of_verdicts(file, UNWRITTEN)
        given = [GivenReport(name, name, figures, "key", "signed") for name in names]
        show_comparison(comparison_view(given, ()), [*Standing])
        words = {word.rstrip(":)") for word in screen.getvalue().split()}
        assert {verdict.claim for verdict in file.verdicts} | set(names) <= words
        assert "all" in words and " -> inconsistent: 16384" not in screen.getvalue()
