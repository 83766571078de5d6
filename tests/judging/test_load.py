"""The cost of judging: ten thousand claims with full samples."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def cost() -> dict[str, Any]:
    """Judged in a process of its own, so that its peak of memory is that of the load alone."""
    command = [sys.executable, "-m", "tests.synthetic_load", "10000"]
    environment = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_claim_is_answered_from_its_samples(cost: dict[str, Any]) -> None:
    assert (cost["verdicts"], cost["with_interval"]) == (10_000, 10_000)


def test_judging_takes_less_than_thirty_seconds(cost: dict[str, Any]) -> None:
    """Seconds of one core: what else the machine does meanwhile does not count."""
    assert cost["cpu_seconds"] < 30


def test_evidence_and_verdicts_fit_into_a_gigabyte(cost: dict[str, Any]) -> None:
    assert cost["peak_bytes"] < 1e9
