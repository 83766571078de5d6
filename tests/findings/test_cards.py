"""GPUs of one machine: whether they disturb each other, and what each gives of the same claims."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.card_spread import same_run, spreads
from assay.findings.cards import Company, card_figures, disturbance, disturbances
from assay.findings.report_figures import UNWRITTEN, report_figures
from assay.judging.judge import judge
from assay.records.cards import CardRun, CardSetting, CardsRecord
from assay.records.evaluations import Benchmark, Metric, Term
from assay.records.measurements import BenchmarkRecord
from tests.builders import (
    GPU,
    TIMES_MS,
    WHEN,
    benchmark,
    catalog,
    claim,
    correctness,
    evidence,
    measure,
    platform,
)

OTHER = "GPU-00000000-5555-6666-7777-888888888888"
RATE = claim(
    "rate",
    Benchmark(kind="benchmark", metric=Metric.RATE, terms=(Term(comparison="duel", arm="ours"),)),
)


def timed(gpu: str, factor: float, seed: int) -> BenchmarkRecord:
    """The control as a card times it whose launches take ``factor`` times as long."""
    times = {arm: ms * factor for arm, ms in TIMES_MS.items()}
    return benchmark(times, gpu=gpu, seed=seed)


def record(beside: float, cards: Sequence[float] = (1.0, 1.0)) -> CardsRecord:
    """Two cards; neighbours make launches take ``beside`` times as long."""
    phases: list[tuple[CardSetting, list[tuple[str, float]]]] = [
        ("alone", [(GPU, cards[0])]),
        ("beside", [(GPU, beside * cards[0]), (OTHER, beside * cards[1])]),
        ("beside", [(GPU, beside * cards[0]), (OTHER, beside * cards[1])]),
        ("alone", [(GPU, cards[0])]),
    ]
    runs = [
        CardRun(
            phase=phase,
            setting=setting,
            neighbours=tuple(gpu for gpu, _ in on if gpu != mine),
            benchmark=timed(mine, factor, 10 * phase + number),
        )
        for phase, (setting, on) in enumerate(phases)
        for number, (mine, factor) in enumerate(on)
    ]
    return CardsRecord(
        schema="assay/cards/1",
        target="h100",
        gpu_uuid=GPU,
        recorded_at=WHEN,
        status="collected",
        detail="",
        control="duel",
        gates=tuple(correctness(gpu=gpu) for gpu in (GPU, OTHER)),
        runs=tuple(runs),
    )


def box(cards: CardsRecord) -> tuple[Catalog, Evidence]:
    """A run whose figures are of the first of two cards."""
    machine = platform()
    second = platform(gpu=OTHER).device
    known = evidence(
        [measure("rate")],
        benchmarks=[benchmark()],
        checks=[correctness()],
        platforms=[machine.model_copy(update={"others": (second,)})],
    )
    return catalog([RATE]), replace(known, cards={"h100": cards})


class TestNeighbours:
    """The control beside busy neighbours, over itself alone."""

    @pytest.mark.parametrize(
        ("factor", "company"),
        [(1.0, Company.HARMLESS), (1.05, Company.DISTURBED), (0.95, Company.DISTURBED)],
    )
    def test_are_judged_by_the_whole_interval(self, factor: float, company: Company) -> None:
        known, found = box(record(factor))
        (told,) = disturbances(known, found)
        assert told.company is company
        low, high = told.control.ratio.interval()
        assert low < factor < high
        assert told.beyond == pytest.approx(max(1 / low, high) - 1)
        assert {arm.arm for arm in told.arms} == {"ours", "rival"}
        assert told.neighbours == 1

    def test_leave_it_open_where_the_interval_is_wider_than_the_margin(self) -> None:
        known, _ = box(record(1.0))
        strict = known.judging.model_copy(update={"neighbour_margin": 1e-4})
        told = disturbance(replace(known, judging=strict), record(1.0))
        assert told is not None and told.company is Company.OPEN

    def test_of_nothing_measured_nothing_is_said(self) -> None:
        known, _ = box(record(1.0))
        assert disturbance(known, record(1.0).model_copy(update={"runs": ()})) is None


class TestCards:
    """What each gives of what all measured."""

    def test_each_is_judged_by_its_own_samples(self) -> None:
        known, found = box(record(1.0, (1.0, 1.1)))
        one, two = card_figures(known, found)
        assert (one.gpu_uuid, two.gpu_uuid) == (GPU, OTHER)
        values = [card.verdicts.verdicts[0].measured for card in (one, two)]
        assert isinstance(values[0], float) and isinstance(values[1], float)
        assert math.isclose(values[0] / values[1], 1.1, rel_tol=0.01)
        (verdict,) = two.verdicts.verdicts
        assert verdict.gpu_uuid == OTHER
        assert verdict.measured_on is not None and verdict.measured_on.uuid == OTHER

    def test_a_claim_that_rests_on_more_is_no_cards(self) -> None:
        known, found = box(record(1.0))
        lone = record(1.0).model_copy(update={"gates": ()})
        assert card_figures(known, replace(found, cards={"h100": lone})) == []

    def test_they_count_among_those_by_which_a_figure_spreads(self) -> None:
        known, found = box(record(1.0, (1.0, 1.1)))
        own = report_figures(
            known, found, judge(known, found), commit=None, created=None,
            manifest_sha256=UNWRITTEN, rates=False,
        )  # fmt: skip
        spread = spreads(own, same_run(card.figures for card in card_figures(known, found)))
        (figure,) = spread.values()
        cards = [each.machine.gpu_uuid for each in figure.observations]
        assert cards == [GPU, GPU, OTHER]
        assert figure.cards == 2
        assert figure.extent == pytest.approx(0.1, abs=0.01)
