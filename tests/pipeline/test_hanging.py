"""Which comparisons get more processes: those whose verdict these may decide, and no others."""

import math
from dataclasses import replace

import pytest

from assay.judging.case import Case
from assay.pipeline.hanging import hanging, with_look
from assay.records.claims import Claim, Relation
from assay.records.evaluations import Benchmark, Metric, Reading, Term
from assay.records.measurements import BenchmarkRecord
from assay.records.units import Unit
from assay.statistics.summaries import CONTROL
from tests import builders as b
from tests.judging.asked import OURS_RATE, RIVAL_RATE, quotient, rate

LOOKS = (3, 5, 8, 12)


def hangs(value: float, process_sd: float, processes: int = 3, **claim: object) -> set[str]:
    """What hangs where one claim, of ``value`` times the true rate, rests on one comparison."""
    record = b.benchmark(process_sd=process_sd, processes=processes)
    return hanging_of([b.claim("rate", rate(), value=OURS_RATE * value, **claim)], "rate", record)


def near(distance: float) -> float:
    """Return a value that is this far (a log) inside the margin's edge."""
    return math.exp(math.log1p(0.08) - distance)


@pytest.mark.parametrize(
    ("asked", "claim", "more"),
    [
        ((1.0, 0.003), {}, False),
        ((1.5, 0.003), {}, False),
        ((0.6, 0.003), {}, False),
        ((near(0.012), 0.004), {}, True),
        ((near(0.001), 0.004, 12), {}, False),  # after the last look
        ((1.08, 0.0002), {}, False),  # at the very edge not even twelve processes decide
        ((1.005, 0.01), {"relation": Relation.AT_LEAST}, True),  # the interval straddles it
        ((0.5, 0.01), {"relation": Relation.AT_LEAST}, False),
    ],
)
def test_only_what_a_look_may_decide_hangs(asked, claim, more):
    assert hangs(*asked, **claim) == ({"duel"} if more else set())


def hanging_of(claims: list[Claim], asked: str, *records: BenchmarkRecord) -> set[str]:
    """What hangs where one of these claims is asked for, of comparisons with looks."""
    looked = [record.model_copy(update={"looks": LOOKS}) for record in records]
    checks = [b.correctness(comparison=record.comparison) for record in records]
    catalog = b.catalog(claims, judging=b.judging(state_gap=0.03))
    other = catalog.comparisons["duel"].model_copy(update={"id": "other"})
    catalog = replace(catalog, comparisons={**catalog.comparisons, "other": other})
    evidence = b.evidence([b.measure(asked, "h100")], benchmarks=looked, checks=checks)
    return hanging(Case(catalog, evidence), "h100")


def test_without_a_usable_block_more_processes_are_asked_for() -> None:
    record = b.benchmark(processes=3, void="thermal")
    assert hanging_of([b.claim("rate", rate(), value=OURS_RATE)], "rate", record) == {"duel"}


def test_no_process_brings_back_a_control_that_was_lost() -> None:
    record = b.with_turns(
        b.benchmark(processes=3), lambda _, turn: turn if turn.arm == "ours" else None
    ).model_copy(update={"not_timed": {"rival": "failed"}})
    assert hanging_of([b.claim("rate", rate(), value=OURS_RATE)], "rate", record) == set()


def test_of_several_terms_only_those_that_are_open_get_more() -> None:
    terms = tuple(Term(comparison=name, arm="ours", over="rival") for name in ("duel", "other"))
    evaluation = Benchmark(kind="benchmark", metric=Metric.RATE_RATIO, terms=terms)
    ratio = OURS_RATE / RIVAL_RATE
    claim = b.claim(
        "both", evaluation, value=ratio * 1.012, unit=Unit.RATIO, relation=Relation.AT_LEAST
    )
    close = b.benchmark(process_sd=0.01, processes=3)
    far = b.benchmark({"ours": b.TIMES_MS["ours"] / 2, "rival": b.TIMES_MS["rival"]},
                      processes=3, comparison="other")  # fmt: skip
    assert hanging_of([claim], "both", close, far) == {"duel"}


def test_an_open_part_of_a_ratio_gets_more_though_it_alone_is_not_asked_for() -> None:
    edge = near(0.012)
    parts = [
        b.claim("top", rate(), value=OURS_RATE * edge),
        b.claim("bottom", rate("rival"), value=RIVAL_RATE * edge),
    ]
    ratio = b.claim("ratio", quotient(), value=OURS_RATE / RIVAL_RATE, unit=Unit.RATIO)
    record = b.benchmark(process_sd=0.004, processes=3)
    assert hanging_of([*parts, ratio], "ratio", record) == {"duel"}


@pytest.mark.parametrize(("absent", "hangs"), [(False, {"duel"}), (True, set())])
def test_beside_a_reading_that_is_never_measured_no_other_is_decided(absent, hangs):
    """The verdict waits for both, so that the one alone leaves it open."""
    edge = near(0.012)
    gone = rate("ours", comparison="other")
    readings = [
        Reading(id=name, says=name, differs="unstated", evaluation=evaluation)
        for name, evaluation in [("near", rate()), *([("gone", gone)] if absent else [])]
    ]
    claim = b.claim(
        "rate", rate("rival"), value=OURS_RATE * edge, reading="dense", readings=tuple(readings)
    )
    record = b.benchmark(process_sd=0.004, processes=3)
    assert hanging_of([claim], "rate", record) == hangs


def test_an_arm_that_is_lost_later_loses_what_it_had_and_its_control_with_it() -> None:
    first = with_look(None, b.benchmark(processes=3), (3, 5), "rival")
    later = b.benchmark({"ours": 1.0}, processes=2, control="ours")
    later = later.model_copy(update={"not_timed": {"rival": "failed"}, "wrong": ("rival",)})
    both = with_look(first, later, (3, 5), "rival")
    assert both.wrong == ("rival",)
    early = both.processes[0]
    assert {turn.arm for block in early.blocks for turn in block.turns} == {"ours"}
    assert {facts.arm for facts in early.arms} == {"ours"}
    assert CONTROL not in {turn.arm for block in early.blocks for turn in block.turns}


def test_a_fixed_number_of_processes_has_no_looks() -> None:
    assert with_look(None, b.benchmark(), (5,), "rival").looks == ()
