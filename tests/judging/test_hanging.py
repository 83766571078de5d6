"""Which comparisons get more processes: those whose verdict these may decide, and no others."""

import math

import pytest

from assay.judging.case import Case
from assay.judging.hanging import hanging
from assay.records.claims import Relation
from tests import builders as b
from tests.judging.asked import OURS_RATE, rate

LOOKS = (3, 5, 8, 12)


def hangs(value: float, process_sd: float, processes: int = 3, **claim: object) -> set[str]:
    """What hangs where one claim, of ``value`` times the true rate, rests on one comparison."""
    record = b.benchmark(process_sd=process_sd, processes=processes)
    record = record.model_copy(update={"looks": LOOKS})
    claims = [b.claim("rate", rate(), value=OURS_RATE * value, **claim)]
    evidence = b.evidence(
        [b.measure("rate", "h100")], benchmarks=[record], checks=[b.correctness()]
    )
    catalog = b.catalog(claims, judging=b.judging(state_gap=0.03))
    return hanging(Case(catalog, evidence), "h100")


@pytest.mark.parametrize("value", [1.0, 1.5, 0.6])
def test_a_decided_verdict_needs_no_more(value: float) -> None:
    assert hangs(value, 0.003) == set()


def test_near_the_edge_of_the_margin_more_may_decide() -> None:
    assert hangs(math.exp(math.log1p(0.08) - 0.012), 0.004) == {"duel"}


def test_after_the_last_look_there_is_no_more() -> None:
    assert hangs(math.exp(math.log1p(0.08) - 0.001), 0.004, processes=12) == set()


def test_what_no_look_would_decide_is_measured_no_further() -> None:
    """At the very edge of the margin not even twelve processes tell on which side the figure is."""
    assert hangs(1.08, 0.0002) == set()


def test_a_bound_hangs_where_the_interval_straddles_it() -> None:
    assert hangs(1.005, 0.01, relation=Relation.AT_LEAST) == {"duel"}
    assert hangs(0.5, 0.01, relation=Relation.AT_LEAST) == set()
