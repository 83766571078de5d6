"""docs/verdicts.md holds the tables of statuses and causes as the code has them."""

import re
from pathlib import Path

from assay.records.evaluations import NotRun
from assay.records.verdicts import Status, Why

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "verdicts.md").read_text()


def rows(section: str) -> list[list[str]]:
    """Cells of a section's table, without its head."""
    lines = PAGE.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0].splitlines()
    table = [line.strip("|").split("|") for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in table[2:]]


def test_every_cause_stands_there_in_its_words() -> None:
    assert rows("Why") == [[f"`{why.value}`", why.short, why.words] for why in Why]


def test_every_status_stands_there_and_which_strict_refuses() -> None:
    named = {row[0].strip("`"): row[2] == "yes" for row in rows("Statuses")}
    assert named == {status.value: status.facts.strict for status in Status}


def test_every_reason_stands_there() -> None:
    paragraph = PAGE.split("Reasons of `not_run`: ", 1)[1].split("\n\n", 1)[0]
    assert set(re.findall(r"`(\w+)`", paragraph)) == {reason.value for reason in NotRun}
