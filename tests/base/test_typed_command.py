"""The command stands in messages as it is typed here."""

from pathlib import Path

import pytest

from assay.base.progress import TYPED, as_typed, command_here, typed_command


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that PATH has, as pip installs one."""
    made = tmp_path / "bin" / "assay"
    made.parent.mkdir()
    made.write_text("#!/bin/sh\n")
    made.chmod(0o755)
    monkeypatch.setenv("PATH", str(made.parent))
    return made


def test_a_program_on_path_is_called_by_its_name(script: Path) -> None:
    assert typed_command(str(script), Path("/tree/assay")) == "assay"


@pytest.mark.parametrize("called", ["./assay", "../my tree/assay", "/tree/assay"])
def test_a_path_stays_as_it_is(script: Path, called: str) -> None:
    assert typed_command(called, Path("/tree/assay")) == called


def test_messages_name_it_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "there is no claim 'x' (./assay claims lists them)"
    monkeypatch.delenv(TYPED, raising=False)
    assert as_typed(sentence) == sentence
    monkeypatch.setenv(TYPED, "../my tree/assay")
    assert command_here({TYPED: "../my tree/assay"}) == "../my tree/assay"
    assert "('../my tree/assay' claims lists them)" in as_typed(sentence)
