"""The command line in this process: its consoles, and a start of it."""

import sys
from typing import Any

import pytest

from assay.cli import console
from assay.cli import main as cli


@pytest.fixture(autouse=True)
def plain_consoles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consoles that are made under capture: ``./assay test`` made its own at the terminal."""
    monkeypatch.setattr(console, "out", console.PlainConsole(highlight=False))
    monkeypatch.setattr(console, "err", console.PlainConsole(stderr=True, highlight=False))


class Answer:
    """The words of one start of the command line, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def assay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Start the command line in this process."""

    def start(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["cli.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Answer(code, said.out, said.err)

    return start
