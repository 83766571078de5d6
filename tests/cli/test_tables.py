"""Tables: nothing is left out, whatever the width, and no id is broken."""

import io

import pytest

from assay.cli.console import TableColumn, show_table

COLUMNS = (
    TableColumn("claim"),
    TableColumn("figure"),
    TableColumn("what it says", prose=True),
    TableColumn("target"),
)
ROWS = [
    ("s003_audit_effective_below_actual", "14.75", "Rates of stored blocks, of whole ones", "h100"),
    ("s000_tma_cooperative_bandwidth", "2", "One\tline\nand no more", "l4"),
]


class Terminal(io.StringIO):
    """A stream that says a person reads it."""

    def isatty(self) -> bool:
        return True


def printed(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, width: int) -> list[str]:
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setenv("COLUMNS", str(width))
    show_table("some claims", COLUMNS, ROWS)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 84, 100, 200])
def test_a_terminal_of_any_width_shows_every_cell(monkeypatch, width):
    lines = printed(monkeypatch, Terminal(), width)
    assert lines[0] == "some claims"
    assert width < 80 or all(len(line) <= width for line in lines)
    text = " ".join(" ".join(lines).split())
    for row in ROWS:
        assert all(word in text for cell in row for word in cell.split())
    assert ("┃" in text) == (width >= 80)


def test_for_programs_a_row_is_a_line(monkeypatch, capsys):
    head, *rows = printed(monkeypatch, io.StringIO(), 20)
    assert head.split("\t") == [column.heading for column in COLUMNS]
    assert rows[1].split("\t") == [*ROWS[1][:2], "One line and no more", "l4"]
    assert capsys.readouterr().err == "some claims\n"
