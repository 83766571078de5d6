"""Whether attention's further checks are of the launches that they stand behind. Pure."""

from collections.abc import Iterator

from assay.records.measurements import ArmCorrectness, Check
from assay.shared.gate_shapes import ATTENTION_CHECKS
from assay.verification.contradictions import Findings

MOST_LIMIT = 2.0
"""No low-precision reference of values near 1 is further off: 0.25 on record, at large logits, and
the limit is twice that."""
BESIDE = ("poisoned", "inputs_unchanged")
"""Checks of a launch that compare bytes."""


def check_attention(arm: ArmCorrectness, path: str, findings: Findings) -> None:
    """Add further checks of another launch's seed or error, or beyond their limit."""
    for launch, check in _further(arm):
        if launch is None or check.seed != launch.seed:
            says = f"{path}: arm {arm.arm} has a check {check.name} that is of no launch"
            findings.refuse("gate-checks", says)
            return
        if check.name == "low_precision_rule" and check.max_abs_error != launch.max_abs_error:
            says = (
                f"{path}: arm {arm.arm} is off by {launch.max_abs_error} at {launch.name}, by its "
                f"{check.name} by {check.max_abs_error}"
            )
            findings.refuse("gate-checks", says)
        if check.limit is None:
            findings.leave(
                "the limits of attention's further checks, which older records do not name"
            )
        limit = MOST_LIMIT if check.limit is None else check.limit
        if not 0 <= (check.max_abs_error or 0) <= limit <= MOST_LIMIT:
            says = f"{path}: arm {arm.arm} passes {check.name}, off by {check.max_abs_error}"
            findings.refuse("gate-checks", f"{says} where {limit:.3g} is most")


def _further(arm: ArmCorrectness) -> Iterator[tuple[Check | None, Check]]:
    """Yield each further check with the launch's own comparison, which stands in front of it."""
    launch: Check | None = None
    for check in arm.checks:
        if check.name in ATTENTION_CHECKS:
            yield launch, check
        elif check.name not in BESIDE:
            launch = check
