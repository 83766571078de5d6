"""How long source 004's problem should take on an L4, before anybody measures it there.

``python -m tools.l4_model`` prints a range for each of its figures, from what an H100 took by the
same kernels for sm_80, in the signed report that RECORD names. No later H100 moves them.
config/claims/l4_model.yaml has the ranges as claims, so that an L4's first report judges them too.

The problem, one batch of 8 heads of 512 tokens, D = 64, is too small to fill a GPU: its time is
that of one CTA, counted in clocks.

    clocks on an H100   (time there - LAUNCH) * its clock
    clocks on an L4     the same, and what its tensor cores take longer for the CTA's FLOP
    L2                  each CTA reads K and V of its head, at L2_BYTES a clock and multiprocessor
    DRAM                inputs once, at 300 GB/s

    the least   at the boost clock: so short a launch may end before 72 W bind; copies hide behind
                products
    the most    at the lowest clock that others published of an L4 at 72 W; nothing hides, and where
                there are more CTAs than multiprocessors, two share one's tensor cores and its L2
                bytes

Both kernels are supposed to run at the same clock: their ratio's range is that of its two ends.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

RECORD = "h100_20261128b"
LAUNCH_US = 2.0
"""What events take around a kernel that does nothing."""
H100_CLOCK_GHZ = 1.98
"""Boost: nothing so short is limited by power."""
H100_FLOP_PER_CLOCK = 0.63 * 4096
"""Of a multiprocessor by mma.sync, which reaches 63 % of its peak (arXiv 2501.12084)."""
L4_CLOCKS_GHZ = (0.81, 2.04)
"""At 72 W, and boost by NVIDIA's product brief.

Three L4s that ran a Transformer's encoder drew 71 to 73 W at 810 to 840 MHz
(https://github.com/dClimate/tessera-embeddings, context_docs/inference/inference-on-gpus.md).
Another held 1009 MHz at 71 W in large bf16 matmuls, a tensor peak of 59.8 TFLOP/s, and reached 57.0
(https://github.com/ish-codes-magic/bytes-per-token, docs/gates/M0-report.md). The brief's base
clock, 795 MHz, is lower than both.
"""
L4_MULTIPROCESSORS = 58
L4_FLOP_PER_CLOCK = 121e12 / L4_MULTIPROCESSORS / 2.04e9
"""Of a multiprocessor; the datasheet's rate is that of the boost clock."""
L2_BYTES = 32
DRAM_BYTES_PER_US = 300e3
HEADS, TOKENS, DIM = 8, 512, 64
FLOP = 4 * HEADS * TOKENS * TOKENS * DIM
MATRIX_BYTES = 2 * HEADS * TOKENS * DIM


@dataclass(frozen=True)
class Rival:
    """A kernel of source 004's."""

    claim: str
    """Whose figure is its time in ms."""
    queries: int
    """Of a CTA."""
    h100_ms: float
    """In RECORD."""
    counted: int = FLOP
    """FLOP that its claimed rate counts."""


FMHA = Rival("s004_fmha_time", 64, 0.0197904, counted=677_376_000)
SDPA = Rival("s004_sdpa_time", 128, 0.0106792)


def predicted_us(rival: Rival, clock_ghz: float, *, worst: bool) -> float:
    """Return its microseconds on an L4 at a clock."""
    ctas = HEADS * TOKENS // rival.queries
    flop = FLOP / ctas
    clocks = (1e3 * rival.h100_ms - LAUNCH_US) * 1e3 * H100_CLOCK_GHZ
    clocks += flop / L4_FLOP_PER_CLOCK - flop / H100_FLOP_PER_CLOCK
    if not worst:
        return LAUNCH_US + clocks / 1e3 / clock_ghz
    l2_clocks = 2 * MATRIX_BYTES / HEADS / L2_BYTES
    clocks += l2_clocks
    if ctas > L4_MULTIPROCESSORS:
        clocks += flop / L4_FLOP_PER_CLOCK + l2_clocks
    return LAUNCH_US + clocks / 1e3 / clock_ghz + 3 * MATRIX_BYTES / DRAM_BYTES_PER_US


def predictions() -> dict[str, tuple[float, float]]:
    """Return least and most of each figure, in its claim's unit (ms, TFLOP/s, ratio), to two
    digits, rounded outward.
    """
    capped, boost = L4_CLOCKS_GHZ
    times = {
        rival: (predicted_us(rival, boost, worst=False), predicted_us(rival, capped, worst=True))
        for rival in (FMHA, SDPA)
    }
    found = {}
    for rival, (least, most) in times.items():
        found[rival.claim] = least / 1e3, most / 1e3
        rates = rival.counted / most / 1e6, rival.counted / least / 1e6
        found[rival.claim.replace("_time", "_rate")] = rates
    ratios = [sdpa / fmha for sdpa, fmha in zip(times[SDPA], times[FMHA], strict=True)]
    found["s004_speedup"] = min(ratios), max(ratios)
    return {
        name: (_two_digits(a, math.floor), _two_digits(b, math.ceil))
        for name, (a, b) in found.items()
    }


def _two_digits(figure: float, rounded: Callable[[float], int]) -> float:
    digits = 1 - math.floor(math.log10(figure))
    return round(rounded(figure * 10.0**digits) / 10.0**digits, digits)


if __name__ == "__main__":
    for figure, (least, most) in predictions().items():
        print(f"{figure}: {least:g} to {most:g}")
