"""Consoles of the command line's own tests."""

import pytest
from rich.console import Console

from assay.cli import console


@pytest.fixture(autouse=True)
def plain_consoles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consoles that are made under capture: ``./assay test`` made its own at the terminal."""
    monkeypatch.setattr(console, "out", Console(highlight=False))
    monkeypatch.setattr(console, "err", Console(stderr=True, highlight=False))
