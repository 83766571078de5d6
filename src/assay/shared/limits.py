"""The launches that a turn holds: the device keeps to them, verifying and the report tell them."""

import math

from assay.shared.specs import ProtocolSpec

MAX_SAMPLES = 64
"""Timed launches, unless the protocol itself asks for more: a short kernel's turn must not fill
the evidence with samples."""
MAX_SETTLING = 512
SETTLES_ITSELF = 10
"""A launch that lasts so many times as long as settling needs none before it: the clock of the arm
before it rules at most a tenth of it."""
MAX_LEAD_MS = 20.0
"""Idle work that a turn begins with, so that the host runs ahead of the GPU."""


def turn_samples(rules: ProtocolSpec, median_ms: float) -> int:
    """Launches a turn takes: the protocol's, or as many more as fill its least time."""
    if rules.turn_min_ms <= 0 or median_ms <= 0:
        return rules.samples
    filling = math.ceil(rules.turn_min_ms / median_ms)
    return max(rules.samples, min(MAX_SAMPLES, filling))


def settling_launches(rules: ProtocolSpec, median_ms: float) -> int:
    """Launches that fill the protocol's time of settling; 0 where it asks for none, or where one
    launch is long enough by itself.
    """
    if rules.settle_ms <= 0 or median_ms <= 0 or median_ms >= SETTLES_ITSELF * rules.settle_ms:
        return 0
    return min(MAX_SETTLING, math.ceil(rules.settle_ms / median_ms))


def lead_ms(host_ms: float, gpu_ms: float, samples: int) -> float:
    """Lead a turn needs: two launches' worth, or the whole turn where the host is the slower side.

    ``host_ms`` to enqueue and ``gpu_ms`` to run one launch. At most MAX_LEAD_MS.
    """
    launches = 2 if host_ms < gpu_ms else samples
    return min(MAX_LEAD_MS, 1.2 * host_ms * launches)
