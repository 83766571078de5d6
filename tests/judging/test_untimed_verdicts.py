"""Verdicts on errors: the largest that the gate found decides, and no time."""

import pytest

from assay.judging.judge import judge
from assay.records.arithmetic import Formula, Operand
from assay.records.claims import Relation
from assay.records.evaluations import Arithmetic, GateFigure, Term
from assay.records.measurements import TrueProduct
from assay.records.plan import Answer
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict, Why
from tests import builders as b

CLAIM = b.claim(
    "error", GateFigure(kind="accuracy", term=Term(comparison="duel", arm="ours")), value=2e-3,
    unit=Unit.MAX_ABS_ERROR, resolution=1e-3, relation=Relation.AT_MOST,
)  # fmt: skip


def verdict_on(errors: dict[str, float], status: str = "correct") -> Verdict:
    record = b.correctness(statuses={"ours": status})
    (ours,) = [arm for arm in record.arms if arm.arm == "ours"]
    checks = tuple(
        ours.checks[0].model_copy(update={"name": name, "max_abs_error": error})
        for name, error in errors.items()
    )
    arms = tuple(
        arm.model_copy(update={"checks": checks}) if arm.arm == "ours" and errors else arm
        for arm in record.arms
    )
    evidence = b.evidence([b.measure(CLAIM.id)], checks=[record.model_copy(update={"arms": arms})])
    (verdict,) = judge(b.catalog([CLAIM]), evidence).verdicts
    return verdict


@pytest.mark.parametrize(
    ("repeat", "status"), [(1.9e-3, Status.REPRODUCED), (2.1e-3, Status.NOT_REPRODUCED)]
)
def test_the_worst_output_at_the_timed_shape_decides(repeat: float, status: Status) -> None:
    verdict = verdict_on({"timed_shape": 1e-3, "repeat": repeat, "ragged": 5e-3})
    assert (verdict.status, verdict.measured) == (status, repeat)
    assert verdict.ci90 is None
    assert "evidence/h100/correctness/duel.json" in verdict.evidence


def test_a_wrong_output_has_no_error_worth_a_figure() -> None:
    verdict = verdict_on({}, status="incorrect")
    assert (verdict.status, verdict.why) == (Status.INCORRECT, Why.WRONG_OUTPUT)
    assert verdict.evidence == ("evidence/h100/correctness/duel.json",)


def test_what_arithmetic_gives_is_in_the_claims_own_unit() -> None:
    unit = {"unit": Unit.MS, "flop_formula": None}
    first, second = (b.claim(name, b.unanswerable(), value=ms, **unit) for name, ms in PARTS)
    mean = Arithmetic(
        kind="arithmetic",
        formula=Formula.MEAN,
        operands=tuple(Operand(claim=name) for name, _ in PARTS),
    )
    claims = (b.claim("mean", mean, value=2.0, **unit), first, second)
    answer = Answer(claim="mean", target=None, way="compute", reason=None, detail="")
    (verdict,) = judge(b.catalog(claims), b.evidence([answer])).verdicts
    assert (verdict.status, verdict.measured) == (Status.CONSISTENT, pytest.approx(2.0))


PARTS = (("one", 1.0), ("other", 3.0))
SHARE = b.claim(
    "found", GateFigure(kind="completeness", term=Term(comparison="duel", arm="ours")), value=100.0,
    unit=Unit.PERCENT, resolution=0.0, relation=Relation.AT_LEAST,
)  # fmt: skip


@pytest.mark.parametrize(
    ("products", "status", "why"),
    [(400, Status.REPRODUCED, None), (30, Status.NOT_REPRODUCED, Why.OTHER_OUTCOME)],
)
def test_the_share_of_products_that_are_done_is_counted(products, status, why):
    record = b.correctness()
    found = TrueProduct(seed=1, products=products, true_products=400, relative_error=0.9)
    arms = tuple(arm.model_copy(update={"true_product": found}) for arm in record.arms)
    evidence = b.evidence([b.measure("found")], checks=[record.model_copy(update={"arms": arms})])
    (verdict,) = judge(b.catalog([SHARE]), evidence).verdicts
    assert (verdict.status, verdict.why) == (status, why)
    assert verdict.measured == 100 * products / 400


@pytest.mark.parametrize(
    ("checks", "reason"), [([], "run_failed"), ([b.correctness()], "not_recorded")]
)
def test_without_a_record_or_a_count_there_is_no_share(checks, reason):
    evidence = b.evidence([b.measure("found")], checks=checks)
    (verdict,) = judge(b.catalog([SHARE]), evidence).verdicts
    assert (verdict.status, verdict.reason) == (Status.NOT_RUN, reason)
