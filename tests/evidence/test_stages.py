"""The table of stages against what reads it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay.evidence.load import load_evidence
from assay.evidence.timings import collect_timings, write_timing
from assay.records.plan import Plan
from assay.records.timings import Stage
from tests.report_fixtures import write_repository, write_run


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """One target, measured: comparisons, programs, profiles, stopwatches, checks."""
    return load_evidence(write_run(write_repository(tmp_path / "repo"))).plan


def test_timings_are_of_what_the_plan_calls_for(plan: Plan, tmp_path: Path) -> None:
    began = datetime(2026, 11, 27, tzinfo=UTC)
    for stage, arguments in (
        ("plan", {}), ("benchmark", {"target": "h100"}), ("benchmark", {"target": "l4"}),
        ("build", {"artifact": "gone", "arch": "sm_90a"}), ("report", {}),
    ):  # fmt: skip
        write_timing(tmp_path, stage, arguments, began, 1.0)
    kept = collect_timings(tmp_path, plan).steps
    assert [(step.stage, step.arguments) for step in kept] == [
        (Stage.BENCHMARK, {"target": "h100"}),
        (Stage.PLAN, {}),
    ]
