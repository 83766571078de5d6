"""A project's own published reports stand in for a GPU, as Assay's do for its own sources."""

import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


def test_a_projects_published_report_answers_where_there_is_no_gpu(
    assay: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.pipeline.request.find_host_driver", lambda: None)
    folder = tmp_path / "deepgemm"
    shutil.copytree(ROOT / "projects/deepgemm", folder)
    asked = ("reproduce", "--project", folder, "--dry-run", "--claim", "scaled_128_rate")
    found = assay(*asked)
    assert found.code == 0
    assert "would be taken over from a report on h200" in found.out
    shutil.rmtree(folder / "reports/published")
    assert "would be taken over" not in assay(*asked).out
