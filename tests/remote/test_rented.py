"""The files by which others rent a machine: YAML that names commands of ours, and no more."""

import re
from pathlib import Path

import pytest

from assay.base.strict_yaml import parse_yaml
from assay.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "profiles" / "rented").iterdir())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_yaml_that_starts_our_commands(path: Path) -> None:
    text = path.read_text()
    told = parse_yaml(text)
    named = re.findall(r"\./assay (\w+)", text)
    assert set(named) >= {"remote", "doctor"}
    assert set(named) <= set(COMMANDS)
    started = told["run"] if "run" in told else "\n".join(told["commands"])
    assert "./assay doctor" in started


def test_every_file_is_documented() -> None:
    page = (ROOT / "docs" / "remote.md").read_text()
    for path in FILES:
        assert str(path.relative_to(ROOT)) in page
        for line in path.read_text().splitlines():
            if found := re.fullmatch(r"#   ((?:sky|dstack) .*)", line):
                assert found[1] in page
