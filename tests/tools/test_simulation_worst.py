"""The simulation of claims over several terms: its levels, and that the record is what it gives."""

import json
from pathlib import Path
from typing import Any

import pytest
from tools.simulation import judging

from tools import simulation_worst as simulation

ROOT = Path(__file__).resolve().parents[2]
RECORD: dict[str, Any] = json.loads((ROOT / "docs" / "simulation_worst.json").read_text())
ROWS = {row["case"]: row for row in RECORD["cases"]}


def test_the_record_is_of_these_cases() -> None:
    assert [row["case"] for row in RECORD["cases"]] == [case.id for case in simulation.CASES]
    assert list(simulation.COUNTS) == RECORD["counts"]


@pytest.mark.parametrize("row", RECORD["cases"], ids=lambda row: row["case"])
class TestLevels:
    """1000 runs know a share of 5 % to within 1.2 points at two standard errors."""

    def test_bounds_hold_the_truth_at_least_at_their_level(self, row: dict[str, Any]) -> None:
        assert row["covered"] >= 0.90

    def test_false_decisions_are_fewer_than_one_in_twenty(self, row: dict[str, Any]) -> None:
        assert row["reproduced"] <= 0.062
        assert row["not_reproduced"] <= 0.062


def test_a_batch_recomputed_is_the_recorded_one() -> None:
    case = simulation.CASES[0]
    assert simulation.batch(case, 3, judging()) == ROWS[case.id]["batches"][3]


def test_the_documented_table_is_that_of_the_record() -> None:
    assert simulation.table(RECORD["cases"]) in (ROOT / "docs" / "statistics.md").read_text()
