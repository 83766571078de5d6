"""The simulation of sequential designs: its levels, and that the record is what it gives."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.catalog.load import load_catalog
from tools import simulation_looks as simulation

ROOT = Path(__file__).resolve().parents[2]
RECORD: dict[str, Any] = json.loads((ROOT / "docs" / "simulation_looks.json").read_text())
ROWS = {row["process"]: row for row in RECORD["processes"]}


def test_the_record_is_of_the_designs_that_the_configuration_has() -> None:
    catalog = load_catalog(ROOT)
    assert catalog.protocols["steady"].looks == simulation.LOOKS == tuple(RECORD["looks"])
    assert catalog.judging.state_gap == simulation.GAP
    assert list(ROWS) == [process.id for process in simulation.PROCESSES]


@pytest.mark.parametrize("row", RECORD["processes"], ids=lambda row: row["process"])
def test_intervals_hold_the_truth_at_their_level(row: dict[str, Any]) -> None:
    """Two states of a card are held to 85 %, and at the edge to what 3000 runs know of it."""
    level = 0.83 if "two_states" in row["process"] else 0.90
    assert min(each["covered"] for each in row["looks"]) >= level


@pytest.mark.parametrize("row", RECORD["processes"], ids=lambda row: row["process"])
def test_far_from_the_edge_nearly_all_stop_at_the_first_look(row: dict[str, Any]) -> None:
    assert row["looks"][-1]["processes"] < 4.6
    assert row["looks"][-1]["wrong"] == 0
    assert row["looks"][-1]["open"] < 0.001


def test_a_batch_recomputed_is_the_recorded_one() -> None:
    process = simulation.PROCESSES[0]
    assert simulation.batch(process, 0, simulation.rules()) == ROWS[process.id]["first_batch"]


def test_the_documented_table_is_that_of_the_record() -> None:
    assert simulation.table(RECORD) in (ROOT / "docs" / "statistics.md").read_text()
