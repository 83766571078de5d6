"""The table of stages against what reads it."""

import inspect
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.evidence.stages import TARGET_STAGES, Purpose, TargetStage
from assay.evidence.timings import collect_timings, write_timing
from assay.pipeline.steps import Steps
from assay.records.plan import Plan, TargetPlan
from assay.records.timings import Stage
from tests.report_fixtures import write_repository, write_run


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """One target, measured: comparisons, programs, profiles, stopwatches, checks."""
    return load_evidence(write_run(write_repository(tmp_path / "repo"))).plan


def each_stage() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("entry", TARGET_STAGES, ids=lambda entry: entry.stage.value)


@each_stage()
def test_an_entry_names_what_there_is(entry: TargetStage[Any, Any]) -> None:
    assert entry.collection in {field.name for field in fields(Evidence)}
    assert entry.field is None or entry.field in TargetPlan.model_fields
    assert list(inspect.signature(getattr(Steps, entry.stage)).parameters) == ["self", "target"]


@each_stage()
def test_what_fails_beside_the_figures_is_a_record_too(entry: TargetStage[Any, Any]) -> None:
    assert (entry.failed is not None) == (entry.purpose is Purpose.BESIDE)


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
