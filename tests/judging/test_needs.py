"""What the readings of claims bring into a plan: measured as their primary ones are."""

from collections.abc import Sequence
from typing import Any

import pytest

from assay.catalog.model import Catalog
from assay.pipeline.plan import make_plan
from assay.records.claims import Claim
from assay.records.evaluations import Benchmark, Derived, Invocation, NotRun, Program, Reading
from assay.records.plan import Plan, TargetPlan
from tests import builders as b
from tests.judging.asked import rate
from tests.report_fixtures import make_request


def program(*arguments: str) -> Program:
    stated = Invocation(arguments=arguments, shape={})
    return Program(kind="program", program="ex88", figure="tma", typed=None, stated=stated)


def reading(name: str, evaluation: Benchmark | Program | Derived) -> Reading:
    return Reading(id=name, says=name, differs="problem", evaluation=evaluation)


def claim(name: str, evaluation: Any, *readings: Reading, **changes: Any) -> Claim:
    return b.claim(name, evaluation, reading="plain", readings=readings, **changes)


def catalog(claims: Sequence[Claim]) -> Catalog:
    """With a kernel of its own for every arm, so that builds tell what was asked for."""
    variants, comparisons = b.variants(), b.comparisons()
    variants["other_kernel"] = variants["our_kernel"].model_copy(update={"id": "other_kernel"})
    duel = comparisons["duel"]
    arm = duel.arms[0].model_copy(update={"variant": "other_kernel"})
    comparisons["other"] = duel.model_copy(update={"id": "other", "arms": (arm, duel.arms[1])})
    return b.catalog(claims, variants=variants, comparisons=comparisons)


@pytest.fixture
def read() -> Claim:
    """A rate of ``duel``, which may also be read as another kernel's, or as a program's."""
    others = (
        reading("kernel", rate("ours", comparison="other")),
        reading("program", program("--q=1", "--causal")),
    )
    return claim("read", rate("ours", comparison="duel"), *others)


def test_why_a_report_does_not_answer_is_the_gpu_that_is_missing_here(read: Claim) -> None:
    """Nobody asked a report for what a project claims: that it lacks that is no reason."""
    held = b.held("h100")
    (answer,) = _recorded(read, held).answers
    assert answer.reason is NotRun.NOT_RECORDED
    absence = "no NVIDIA H100 here (this machine has none)"
    lacking = held.provision.model_copy(update={"absence": absence})
    (answer,) = _recorded(read, held.model_copy(update={"provision": lacking})).answers
    says = f"N{absence[1:]}, and reports/published/old has no record of it."
    assert (answer.reason, answer.detail) == (NotRun.NO_DEVICE, says)


def test_a_report_without_a_readings_record_still_answers_the_claim(read: Claim) -> None:
    plan = _recorded(read, b.held("h100", comparisons=("duel",)))
    assert [answer.way for answer in plan.answers] == ["recorded"]
    assert (plan.targets[0].comparisons, plan.targets[0].programs) == (("duel",), ())


def _recorded(read: Claim, held: TargetPlan) -> Plan:
    """A plan where an earlier report holds what there is."""
    asked = make_request("run", [held.provision], ["paper"])
    return make_plan(catalog([read]), asked.model_copy(update={"held": (held,)}))
