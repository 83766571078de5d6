"""The projects of this repository publish what verifies, and their READMEs tell what it says."""

from pathlib import Path

import pytest
from tools.project_results import archives, project_tables, replaced

ROOT = Path(__file__).resolve().parents[2]
ARCHIVES = archives(ROOT)


def test_every_project_publishes_evidence() -> None:
    folders = {path.parent for path in ROOT.glob("projects/*/assay.yaml")}
    assert {path.parents[2] for path in ARCHIVES} == folders
    assert len(ARCHIVES) == 4


@pytest.mark.parametrize(
    ("path", "table"), project_tables(ROOT).items(), ids=lambda one: str(one)[-40:]
)
def test_the_readmes_tell_what_it_says(path: Path, table: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert replaced(text, table, path) == text
