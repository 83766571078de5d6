"""Chosen configurations held against their sweeps: the rule, its gates, its words."""

import math
from dataclasses import replace

import pytest

from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.findings.tuning_outcomes import ChoiceStanding, SweepOutcome, decide, outcomes
from assay.judging.case import Case
from assay.records.measurements import BenchmarkRecord, Turn
from assay.records.rivals import TuningChoice, TuningFile
from assay.statistics.summaries import Summary
from tests import builders as b
from tests.report_fixtures import choice, write_repository, write_run

MARGIN = 0.05
KEY = ("h100", "demo_sweep")


def ratio(value: float, half_width: float = 0.01) -> Summary:
    """Speed of the chosen over a rival's, +- ``half_width`` on the log scale."""
    x = math.log(value)
    return Summary(x, x - half_width, x + half_width, 5, 15, 90, 0)


def test_an_interval_across_the_margin_decides_nothing() -> None:
    rivals = {"a": ratio(1.3), "b": ratio(1 / (1 + MARGIN))}
    assert decide(rivals, MARGIN) == (ChoiceStanding.CANNOT_TELL, "b")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Catalog, Evidence]:
    """A sweep of three: bk96 is 1.8 times, bk64 1.4 times as fast as bk32."""
    root = write_repository(tmp_path_factory.mktemp("sweep") / "repo")
    return load_catalog(root), load_evidence(write_run(root))


def chosen(bk: int) -> TuningChoice:
    return choice(variant=f"demo_bk{bk}", evidence={"comparison": "demo_sweep", "arm": f"bk{bk}"})


def with_choices(catalog: Catalog, *choices: TuningChoice) -> Catalog:
    return replace(catalog, tuning=TuningFile(schema="assay/tuning/1", choices=choices))


def with_record(evidence: Evidence, record: BenchmarkRecord) -> Evidence:
    return replace(evidence, benchmarks={**evidence.benchmarks, KEY: record})


def with_wrong(evidence: Evidence, *names: str) -> Evidence:
    """The evidence of a gate that found outputs of these arms wrong."""
    gate = evidence.correctness[KEY]
    arms = tuple(
        arm.model_copy(update={"status": "incorrect"}) if arm.arm in names else arm
        for arm in gate.arms
    )
    return replace(evidence, correctness={KEY: gate.model_copy(update={"arms": arms})})


def slowed(record: BenchmarkRecord, arm: str, factor: float) -> BenchmarkRecord:
    """The record with one name's times multiplied."""

    def change(_: int, turn: Turn) -> Turn:
        times = tuple(time * factor for time in turn.times_ms)
        return turn.model_copy(update={"times_ms": times}) if turn.arm == arm else turn

    return b.with_turns(record, change)


class TestOutcomes:
    """A choice against the records of its sweep."""

    @staticmethod
    def only(catalog: Catalog, evidence: Evidence) -> SweepOutcome:
        (outcome,) = outcomes(Case(catalog, evidence))
        return outcome

    def test_the_fastest_is_confirmed(self, measured: tuple[Catalog, Evidence]) -> None:
        catalog, evidence = measured
        outcome = self.only(with_choices(catalog, chosen(96)), evidence)
        assert outcome.standing is ChoiceStanding.CONFIRMED
        assert (outcome.rival, outcome.rival_variant) == ("bk64", "demo_bk64")
        assert outcome.ratio.value() == pytest.approx(1.8 / 1.4, rel=0.01)
        assert outcome.note == ""

    def test_a_noisy_sweep_decides_nothing(self, measured: tuple[Catalog, Evidence]) -> None:
        """The control is 8 % off itself: more than the margin, whatever the ratios are."""
        catalog, evidence = measured
        record = slowed(evidence.benchmarks[KEY], "control", 1.08)
        outcome = self.only(with_choices(catalog, chosen(96)), with_record(evidence, record))
        assert outcome.standing is ChoiceStanding.CANNOT_TELL
        assert "the same binary against itself differs by up to 8" in outcome.note

    def test_a_rival_with_wrong_output_is_none(self, measured: tuple[Catalog, Evidence]) -> None:
        """bk96 is fastest and wrong: bk64 stands, and the report says who is missing."""
        catalog, evidence = measured
        outcome = self.only(with_choices(catalog, chosen(64)), with_wrong(evidence, "bk96"))
        assert outcome.standing is ChoiceStanding.CONFIRMED
        assert outcome.rival == "bk32"
        assert outcome.note == "without a result: bk96"

    def test_a_wrong_choice_is_not_measured(self, measured: tuple[Catalog, Evidence]) -> None:
        catalog, evidence = measured
        wrong = with_wrong(evidence, "bk32", "bk64", "bk96")
        outcome = self.only(with_choices(catalog, chosen(96)), wrong)
        assert outcome.standing is ChoiceStanding.NOT_MEASURED
        assert "is wrong" in outcome.note
