"""The simulation: its levels, and that the committed record is what it gives."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.base.io import load_yaml
from assay.records.workloads import FEWEST_FIXED, Judging, ProtocolsFile
from tools import simulation

ROOT = Path(__file__).resolve().parents[2]
RECORD: dict[str, Any] = json.loads((ROOT / "docs" / "simulation.json").read_text())
ROWS = {row["scenario"]: row for row in (*RECORD["scenarios"], *RECORD["stress"])}


def test_it_simulates_the_protocol_of_published_figures_and_the_configured_rules() -> None:
    protocols = load_yaml(ProtocolsFile, ROOT / "config" / "protocols.yaml").protocols
    steady = next(protocol for protocol in protocols if protocol.id == "steady")
    assert (steady.blocks, steady.samples) == (simulation.BLOCKS, simulation.LAUNCHES)
    assert simulation.PROCESSES == FEWEST_FIXED
    made, configured = simulation.judging(), load_yaml(Judging, ROOT / "config" / "judging.yaml")
    assert made == configured.model_copy(update={"state_gap": 0.0})  # of looks alone


def test_the_record_is_of_these_scenarios() -> None:
    assert [row["scenario"] for row in RECORD["scenarios"]] == [
        scenario.id for scenario in simulation.SCENARIOS
    ]
    assert list(simulation.COUNTS) == RECORD["counts"]


@pytest.mark.parametrize("row", RECORD["scenarios"], ids=lambda row: row["scenario"])
class TestLevels:
    def test_the_interval_covers_at_its_level(self, row: dict[str, Any]) -> None:
        assert 0.87 <= row["covered"] <= 0.93

    def test_false_verdicts_at_the_margin_are_fewer_than_one_in_twenty(
        self, row: dict[str, Any]
    ) -> None:
        for name in ("reproduced_at_margin", "beyond_at_margin", "one_sided"):
            assert row[name] < 0.05


@pytest.mark.parametrize(
    "scenario", (*simulation.SCENARIOS, *simulation.STRESS), ids=lambda scenario: scenario.id
)
def test_a_batch_recomputed_is_the_recorded_one(scenario: simulation.Scenario) -> None:
    number = len(scenario.id) % simulation.BATCHES
    counts, _ = simulation.batch(scenario, number, simulation.judging())
    assert counts == ROWS[scenario.id]["batches"][number]


def test_the_documented_tables_are_those_of_the_record() -> None:
    text = (ROOT / "docs" / "statistics.md").read_text()
    assert simulation.table(RECORD["scenarios"]) in text
    assert simulation.table(RECORD["stress"]) in text
