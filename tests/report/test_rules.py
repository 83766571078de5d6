"""The taking of samples in words: what the device does, and not only what it aims at."""

from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.report.rules import protocols
from tests.report_fixtures import write_repository, write_run


def told(tmp_path: Path, **changes: object) -> str:
    """The line on the fixture's protocol, with some of its values changed."""
    root = write_repository(tmp_path / "repo")
    catalog, evidence = load_catalog(root), load_evidence(write_run(root))
    for name, protocol in catalog.protocols.items():
        catalog.protocols[name] = protocol.model_copy(update=changes)
    (fact,) = protocols(catalog, evidence)
    return fact.value


def test_the_most_launches_of_a_turn_are_told_with_what_they_do_not_fill(tmp_path: Path) -> None:
    line = told(tmp_path, samples=10, turn_min_ms=32.0, settle_ms=64.0)
    assert (
        "A turn times 10 launches, or as many as fill 32 ms, but no more than 64: launches of less "
        "than 0.5 ms make it shorter. Before it, 64 ms of the same arm do not count, in no more "
        "than 512 launches: those of less than 0.125 ms settle for less." in line
    )


@pytest.mark.parametrize("timer", ["events", "graph"])
def test_a_turn_without_least_time_holds_its_samples(tmp_path: Path, timer: str) -> None:
    line = told(tmp_path, samples=10, turn_min_ms=None, settle_ms=None, timer=timer)
    what = "launches" if timer == "events" else "graphs of many launches"
    assert f"A turn times 10 {what}. " in line
    assert "no more than" not in line


def test_a_protocol_of_more_samples_than_the_limit_takes_just_these(tmp_path: Path) -> None:
    line = told(tmp_path, samples=100, turn_min_ms=50.0, settle_ms=None)
    assert "A turn times 100 launches. " in line
