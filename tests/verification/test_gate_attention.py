"""Attention's further checks, held against the launches that they stand behind."""

from typing import Any

import pytest

from assay.records.measurements import ArmCorrectness, Check
from assay.verification.contradictions import Findings
from assay.verification.gate_attention import check_attention


def _check(name: str, seed: int, error: float | None, limit: float | None = None) -> Check:
    return Check(name=name, seed=seed, passed=True, relative_error=None, max_abs_error=error,
                 detail="", limit=limit)  # fmt: skip


def _launch(of: int, error: float, **changed: Any) -> list[Check]:
    """One launch with its further checks; ``changed`` of the last of them."""
    rule = _check("low_precision_rule", of, error, 3e-3).model_copy(update=changed)
    return [
        _check("timed_shape", of, error), _check("log_sum_exp", of, 2e-6, 1e-3), rule,
        _check("inputs_unchanged", of, None),
    ]  # fmt: skip


def _found(checks: list[Check]) -> Findings:
    findings = Findings()
    arm = ArmCorrectness(
        arm="fused", variant="fused", workload="sparse", status="correct", checks=tuple(checks),
        detail="", binary_sha256=None,
    )  # fmt: skip
    check_attention(arm, "h100/correctness/sparse.json", findings)
    return findings


def test_checks_of_their_launches_are_no_contradiction() -> None:
    found = _found([*_launch(1, 1.5e-4), *_launch(2, 1.7e-4)])
    assert (found.contradictions, found.unproven) == ([], [])


def test_limits_that_only_words_tell_are_unproven() -> None:
    found = _found(_launch(1, 1.5e-4, limit=None))
    assert found.contradictions == []
    assert len(found.unproven) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"max_abs_error": 0.0},
        {"seed": 7},
        {"limit": 1e-4},
        {"limit": 1e30},
        {"limit": None, "max_abs_error": 1e30},
    ],
    ids=["another error", "another seed", "beyond it", "no limit at all", "beyond all"],
)
def test_a_check_of_another_launch_or_beyond_its_limit_is_refused(changed: dict[str, Any]) -> None:
    codes = {each.code for each in _found(_launch(1, 1.5e-4, **changed)).contradictions}
    assert codes == {"gate-checks"}


def test_a_check_before_every_launch_is_refused() -> None:
    assert _found(_launch(1, 1.5e-4)[1:]).contradictions
