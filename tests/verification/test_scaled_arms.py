"""How many arms of published reports may be made faster alone: those that wait for the host.

What a consistent liar can still do, kept as a test: docs/trust.md says it with these figures.
"""

import re
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.records.measurements import BenchmarkRecord
from assay.verification.process_turns import names_of, samples_of
from assay.verification.report_archive import SUFFIX, opened_report
from assay.verification.sample_times import check_times
from assay.verification.turn_lengths import BUSY_MS
from assay.verification.turn_order import check_turns

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ("hopper_20261122_original", "hopper_20261123_sources")
FACTOR = 0.7


def opened(run: str) -> tuple[Catalog, Evidence]:
    place = ROOT / "reports" / "published" / run
    with opened_report(place if place.is_dir() else Path(f"{place}{SUFFIX}")) as folder:
        return load_catalog(folder / "evidence"), load_evidence(folder / "evidence")


def scaled(record: BenchmarkRecord, names: frozenset[str]) -> BenchmarkRecord:
    """The same record with every sample of one arm times 0.7, and nothing else changed."""

    def faster(turn):  # type: ignore[no-untyped-def]
        times = tuple(round(ms * FACTOR, 6) for ms in turn.times_ms)
        return turn.model_copy(update={"times_ms": times}) if turn.arm in names else turn

    processes = []
    for process in record.processes:
        blocks = tuple(
            block.model_copy(update={"turns": tuple(map(faster, block.turns))})
            for block in process.blocks
        )
        processes.append(process.model_copy(update={"blocks": blocks}))
    return record.model_copy(update={"processes": tuple(processes)})


def tried(run: str) -> Iterator[tuple[str, float, bool]]:
    """Yield each arm of a report, the time of a launch in ms, and whether scaling is refused."""
    catalog, evidence = opened(run)
    for key, record in evidence.benchmarks.items():
        for facts in record.processes[0].arms:
            times = [ms for each in record.processes for ms in samples_of(each, facts.arm)]
            names = names_of(facts.arm, catalog.comparisons[key[1]].control)
            forged = replace(evidence, benchmarks={key: scaled(record, names)})
            refused = any(
                check(catalog, forged).contradictions for check in (check_turns, check_times)
            )
            launch_ms = statistics.median(times) * facts.launches_per_sample
            yield f"{key[0]}/{key[1]}.{facts.arm}", launch_ms, refused


@pytest.fixture(scope="module")
def arms() -> list[tuple[str, float, bool]]:
    return [arm for run in REPORTS for arm in tried(run)]


def test_only_short_launches_pass(arms: list[tuple[str, float, bool]]) -> None:
    passed = {name: ms for name, ms, refused in arms if not refused}
    assert max(passed.values()) < BUSY_MS, passed


def test_the_documentation_says_how_many(arms: list[tuple[str, float, bool]]) -> None:
    text = " ".join((ROOT / "docs" / "trust.md").read_text().split())
    said = re.search(r"Of the (\d+) arms of .*? refused for all but (\d+)", text)
    assert said is not None
    assert [int(count) for count in said.groups()] == [
        len(arms),
        sum(not refused for _, _, refused in arms),
    ]
