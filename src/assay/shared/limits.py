"""The launches that a turn holds: the device keeps to them, verifying and the report tell them."""

import math

from assay.shared.specs import ProtocolSpec

MAX_SAMPLES = 64
"""Timed launches, unless the protocol itself asks for more: a short kernel's turn must not fill
the evidence with samples."""
MAX_SETTLING = 512
"""Launches before them that are not counted."""


def turn_samples(rules: ProtocolSpec, median_ms: float) -> int:
    """Launches a turn takes: the protocol's, or as many more as fill its least time."""
    if rules.turn_min_ms <= 0 or median_ms <= 0:
        return rules.samples
    filling = math.ceil(rules.turn_min_ms / median_ms)
    return max(rules.samples, min(MAX_SAMPLES, filling))


def settling_launches(rules: ProtocolSpec, median_ms: float) -> int:
    """Launches that fill the protocol's time of settling; 0 where it asks for none."""
    if rules.settle_ms <= 0 or median_ms <= 0:
        return 0
    return min(MAX_SETTLING, math.ceil(rules.settle_ms / median_ms))
