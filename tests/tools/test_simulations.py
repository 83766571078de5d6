"""The simulations: their levels, and that the committed records are what they give."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.base.io import load_yaml
from assay.catalog.load import load_catalog
from assay.records.workloads import FEWEST_FIXED, Judging
from tools import simulation, simulation_looks, simulation_worst

ROOT = Path(__file__).resolve().parents[2]
CONFIGURED = load_yaml(Judging, ROOT / "config" / "judging.yaml")


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "docs" / f"{name}.json").read_text())
    return found


FIXED, LOOKS, WORST = map(recorded, ("simulation", "simulation_looks", "simulation_worst"))
BATCHES = {row["scenario"]: row["batches"] for row in (*FIXED["scenarios"], *FIXED["stress"])}


def test_they_simulate_the_protocol_of_published_figures_and_the_configured_rules() -> None:
    steady = load_catalog(ROOT).protocols["steady"]
    assert (steady.blocks, steady.samples) == (simulation.BLOCKS, simulation.LAUNCHES)
    assert simulation.PROCESSES == FEWEST_FIXED
    assert simulation.judging() == CONFIGURED.model_copy(update={"state_gap": 0.0})  # of looks
    assert steady.looks == simulation_looks.LOOKS == tuple(LOOKS["looks"])
    assert CONFIGURED.state_gap == simulation_looks.GAP


def test_the_records_are_of_these_scenarios() -> None:
    for rows, key, asked in (
        (FIXED["scenarios"], "scenario", simulation.SCENARIOS),
        (LOOKS["processes"], "process", simulation_looks.PROCESSES),
        (WORST["cases"], "case", simulation_worst.CASES),
    ):
        assert [row[key] for row in rows] == [each.id for each in asked]
    assert list(simulation.COUNTS) == FIXED["counts"]
    assert list(simulation_worst.COUNTS) == WORST["counts"]


@pytest.mark.parametrize("row", FIXED["scenarios"], ids=lambda row: row["scenario"])
def test_an_interval_covers_at_its_level_and_errs_in_fewer_than_one_in_twenty(row):
    assert 0.87 <= row["covered"] <= 0.93
    for name in ("reproduced_at_margin", "beyond_at_margin", "one_sided"):
        assert row[name] < 0.05


@pytest.mark.parametrize("row", LOOKS["processes"], ids=lambda row: row["process"])
def test_looks_cover_at_their_level_and_nearly_all_stop_at_the_first(row: dict[str, Any]) -> None:
    """Two states of a card are held to 85 %, and at the edge to what 3000 runs know of it."""
    level = 0.83 if "two_states" in row["process"] else 0.90
    assert min(each["covered"] for each in row["looks"]) >= level
    far = row["looks"][-1]
    assert far["processes"] < 4.6
    assert far["wrong"] == 0
    assert far["open"] < 0.001


@pytest.mark.parametrize("row", WORST["cases"], ids=lambda row: row["case"])
def test_bounds_over_several_terms_hold_at_least_at_their_level(row: dict[str, Any]) -> None:
    """1000 runs know a share of 5 % to within 1.2 points at two standard errors."""
    assert row["covered"] >= 0.90
    assert row["reproduced"] <= 0.062
    assert row["not_reproduced"] <= 0.062


@pytest.mark.parametrize(
    "scenario", (*simulation.SCENARIOS, *simulation.STRESS), ids=lambda scenario: scenario.id
)
def test_a_batch_recomputed_is_the_recorded_one(scenario: simulation.Scenario) -> None:
    number = len(scenario.id) % simulation.BATCHES
    counts, _ = simulation.batch(scenario, number, simulation.judging())
    assert counts == BATCHES[scenario.id][number]


def test_a_batch_of_looks_and_of_terms_recomputed_is_the_recorded_one() -> None:
    process, case = simulation_looks.PROCESSES[0], simulation_worst.CASES[0]
    looked = simulation_looks.batch(process, 0, simulation_looks.rules())
    assert looked == LOOKS["processes"][0]["first_batch"]
    found = simulation_worst.batch(case, 3, simulation.judging())
    assert found == WORST["cases"][0]["batches"][3]


def test_the_documented_tables_are_those_of_the_records() -> None:
    text = (ROOT / "docs" / "statistics.md").read_text()
    tables = [simulation.table(FIXED[name]) for name in ("scenarios", "stress")]
    tables += [simulation_looks.table(LOOKS), simulation_worst.table(WORST["cases"])]
    for table in tables:
        assert table in text
