"""Claims over the worst of several terms, on synthetic evidence whose truth is known."""

from typing import Any

import pytest

from assay.judging.judge import judge
from assay.judging.measured import stricter
from assay.records.claims import Claim, Relation
from assay.records.evaluations import Benchmark, Metric, Term
from assay.records.measurements import BenchmarkRecord
from assay.records.units import Unit
from assay.records.verdicts import Status
from assay.records.workloads import Arm, Comparison, Judging
from tests import builders as b

TIMES = {"rival": 0.2, "low": 0.2 / 0.8, "middle": 0.2 / 0.9, "high": 0.2 / 1.1}
"""Arms of one comparison and of the same FLOPs: 0.8, 0.9 and 1.1 times as fast as their rival."""
NAMES = ("low", "middle", "high")


def rules(**changes: Any) -> Judging:
    return b.judging(worst_of="bounds", **changes)


def comparison(name: str = "many") -> Comparison:
    arms = tuple(Arm(id=arm, variant="cublas", workload="dense") for arm in TIMES)
    return Comparison(id=name, title=name, protocol="standard", arms=arms, control="rival")


def record(name: str = "many", times: dict[str, float] = TIMES, **changes: Any) -> BenchmarkRecord:
    facts = {arm: b.facts("rival").model_copy(update={"arm": arm}) for arm in times}
    return b.benchmark(times, comparison=name, arm_facts=facts, **changes)


def checks(name: str = "many", **statuses: str) -> Any:
    made = b.correctness(["rival"] * len(TIMES), comparison=name)
    arms = tuple(
        entry.model_copy(update={"arm": arm, "status": statuses.get(arm, "correct")})
        for arm, entry in zip(TIMES, made.arms, strict=True)
    )
    return made.model_copy(update={"arms": arms})


def term(arm: str, name: str = "many") -> Term:
    return Term(comparison=name, arm=arm, over="rival")


def claim(value: float, *terms: Term, relation: Relation = Relation.AT_LEAST) -> Claim:
    given = terms or tuple(term(arm) for arm in NAMES)
    evaluation = Benchmark(kind="benchmark", metric=Metric.RATE_RATIO, terms=given)
    return b.claim("worst", evaluation, value=value, unit=Unit.RATIO, relation=relation)


def verdict(made, records=None, checked=None, judging=None):
    catalog = b.catalog(
        [made],
        judging=judging or rules(),
        comparisons={name: comparison(name) for name in ("many", "other")},
    )
    evidence = b.evidence(
        [b.measure(made.id)],
        benchmarks=[record()] if records is None else records,
        checks=[checks()] if checked is None else checked,
    )
    return judge(catalog, evidence).verdicts[0]


def test_terms_share_the_chance_of_a_false_interval() -> None:
    assert stricter(rules(), 4).confidence == pytest.approx(1 - (1 - rules().confidence) / 4)


class TestDecision:
    def test_reproduced_when_every_term_is(self) -> None:
        found = verdict(claim(0.75))
        assert found.status is Status.REPRODUCED
        assert found.measured == pytest.approx(0.8, rel=0.01)
        assert found.explanation.startswith("The worst of 3 terms is low over rival of many.")
        for arm in NAMES:
            assert f"{arm} over rival of many" in found.explanation

    def test_at_most_is_about_the_highest(self) -> None:
        held = verdict(claim(1.2, relation=Relation.AT_MOST))
        assert held.status is Status.REPRODUCED
        assert held.measured == pytest.approx(1.1, rel=0.01)
        missed = verdict(claim(1.0, relation=Relation.AT_MOST))
        assert missed.status is Status.NOT_REPRODUCED
        assert missed.explanation.startswith("The worst of 3 terms is high over rival of many.")

    def test_terms_of_several_comparisons(self) -> None:
        """The term of a noisier run may decide, though another is the lowest."""
        noisy = record("other", seed=5, process_sd=0.5)
        made = claim(0.78, term("low"), term("middle", "other"))
        found = verdict(
            made, [record(), noisy], [checks(), checks("other")], rules(ratio_margin=0.9)
        )
        assert (found.status, found.reason) == (Status.INCONCLUSIVE, "interval_straddles")
        assert found.explanation.startswith("The worst of 2 terms is low over rival of many.")
        assert "What decides is middle over rival of other." in found.explanation
        assert found.ci90 is not None and found.ci90[0] < 0.78 < found.ci90[1]
        assert "evidence/h100/benchmark/other.json.gz" in found.evidence

    def test_a_term_that_did_not_run_leaves_no_verdict_but_a_failure(self) -> None:
        terms = (term("low"), term("middle", "other"))
        missing = verdict(claim(0.75, *terms))
        assert missing.status is Status.NOT_RUN
        failing = verdict(claim(0.85, *terms))
        assert failing.status is Status.NOT_REPRODUCED
        assert "middle over rival of other not run" in failing.explanation
        assert failing.explanation.startswith("The worst of the 1 of 2 terms that have a figure is")
