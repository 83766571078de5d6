"""Where each claim is answered, and that a target measures what answers something there."""

from collections.abc import Sequence
from typing import Any

from assay.catalog.model import Catalog
from assay.pipeline.plan import make_plan
from assay.records.claims import Claim
from assay.records.evaluations import Invocation, Metric, Program, Quantity, Term
from assay.records.plan import Plan, Provision, TargetPlan
from assay.records.units import Unit
from tests import builders as b
from tests.judging.asked import quotient, rate
from tests.report_fixtures import make_request, provision


def program() -> Program:
    stated = Invocation(arguments=("--q=1",), shape={})
    return Program(kind="program", program="ex88", figure="tma", typed=None, stated=stated)


def catalog(claims: Sequence[Claim], **changes: Any) -> Catalog:
    """With an A100, which nothing here is built for, and an H200, which runs what an H100 does."""
    targets = {name: b.target(name) for name in ("l4", "h100")}
    targets["h200"] = targets["h100"].model_copy(update={"id": "h200", "gpu_model": "h200"})
    targets["a100"] = targets["l4"].model_copy(update={"id": "a100", "arch": "sm_80"})
    return b.catalog(claims, targets=targets, **changes)


def plan(claims: Sequence[Claim], *provisions: Provision) -> Plan:
    return make_plan(catalog(claims), make_request("run", list(provisions), ["paper"]))


def ways(planned: Plan, claim: str = "rate") -> dict[str | None, str]:
    """The way of each answer of a claim, or the reason for none, by target."""
    return {
        answer.target: answer.reason.value if answer.reason else answer.way
        for answer in planned.answers
        if answer.claim == claim
    }


def of(planned: Plan, target: str) -> TargetPlan:
    return next(entry for entry in planned.targets if entry.target == target)


class TestElsewhere:
    """Beside its answer on the hardware it names, a claim has one wherever else it can run."""

    def test_a_gpu_that_was_not_named_answers_beside_the_one_that_was_not_asked_for(self) -> None:
        planned = plan([b.claim("rate", rate())], provision("h200"))
        assert ways(planned) == {"h100": "not_selected", "h200": "measure"}
        assert of(planned, "h200").comparisons == ("duel",)

    def test_what_has_no_gpu_or_cannot_run_it_has_no_row(self) -> None:
        given = (provision("h100"), provision("h200", "none"), provision("a100"))
        planned = plan([b.claim("rate", rate()), b.claim("program", program())], *given)
        assert ways(planned) == ways(planned, "program") == {"h100": "measure"}

    def test_a_ratio_needs_both_of_its_parts(self) -> None:
        gap = quotient("rate", "program")
        claims = [
            b.claim("rate", rate()),
            b.claim("program", program()),
            b.claim("gap", gap, value=2.0, unit=Unit.RATIO),
        ]
        planned = plan(claims, provision("h100"), provision("l4"))
        assert ways(planned, "gap") == {"h100": "measure"}
        assert ways(planned) == {"h100": "measure", "l4": "measure"}

    def test_recorded_figures_answer_where_there_are_some(self) -> None:
        held = b.held("h200", comparisons=("duel",))
        claims = [b.claim("rate", rate()), b.claim("other", rate("attention", comparison="attend"))]
        given = [provision("h100"), held.provision]
        request = make_request("run", given, ["paper"]).model_copy(update={"held": (held,)})
        planned = make_plan(catalog(claims), request)
        assert ways(planned) == {"h100": "measure", "h200": "recorded"}
        assert ways(planned, "other") == {"h100": "measure"}


class TestNothingIsMeasuredThatAnswersNothing:
    def test_a_gpu_that_can_answer_nothing_measures_nothing(self) -> None:
        planned = plan([b.claim("rate", rate()), b.claim("program", program())], provision("a100"))
        target = of(planned, "a100")
        assert (target.comparisons, target.programs, target.profiles) == ((), (), ())
        assert (target.cheats, target.sanitized, target.stopwatches) == (False, (), ())

    def test_what_comes_nearest_to_an_unanswerable_claim_is_measured_on_its_hardware(self) -> None:
        near = Quantity(metric=Metric.RATE, term=Term(comparison="duel", arm="ours"))
        lost = b.unanswerable().model_copy(update={"nearest": (near,)})
        planned = plan([b.claim("lost", lost)], provision("h100"), provision("h200"))
        assert of(planned, "h100").comparisons == ("duel",)
        assert of(planned, "h200").comparisons == ()
