"""The analytic bound and the floor below which a time is broken."""

import pytest

from assay.statistics import roofline
from tests import builders as b


def test_the_floor_forgives_what_the_cache_can_hold() -> None:
    """50 MiB may still lie in L2 when the timer stops; what exceeds them may not."""
    target = b.target()
    small = b.facts("rival", flop=1, bytes=target.l2_bytes)
    large = b.facts("rival", flop=1, bytes=target.l2_bytes + 3_350_000_000)
    assert roofline.floor_ms(small, "float16", target, "cold") < 1e-6
    assert roofline.floor_ms(large, "float16", target, "cold") == pytest.approx(1.0)


def test_the_longer_of_arithmetic_and_memory_is_claimable() -> None:
    least = roofline.claimable(989.4e9, 3.35e9, "float16", b.target())
    assert (least.by, least.ms) == ("compute", pytest.approx(1.0))
    least = roofline.claimable(989.4e9, 6.7e9, "float16", b.target())
    assert (least.by, least.ms) == ("memory", pytest.approx(2.0))
