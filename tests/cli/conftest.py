"""A start of the command line in this process."""

import sys
from pathlib import Path
from typing import Any

import pytest

from assay.cli import main as cli


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


@pytest.fixture
def key(report: Path) -> tuple[str, Path]:
    """The option that has the small report's own key trusted."""
    return "--key", report / "signer.pub"
