"""The analytic limit: the least time a launch can take on a target's datasheet. Pure.

Three bounds, for three questions. ``bound_ms`` is the textbook roofline: all minimal traffic over
peak bandwidth, or all FLOPs over peak rate, whichever is longer. ``claimable`` is what a published
figure is held against: the same, but memory limits nothing that fits in the L2 cache. ``floor_ms``
is the time below which a measurement is broken: it must hold without exception, so it forgives what
the L2 cache can absorb (a warm cache serves the inputs; even after a flush, outputs may still lie
in L2 when the timer stops).
"""

from dataclasses import dataclass
from typing import Literal

from assay.records.measurements import ArmFacts
from assay.records.platform import Peaks, Target

Dtype = Literal["float16", "bfloat16", "float8_e4m3", "float8", "float32"]
"""Types of the inputs; ``float8`` where a program's own output does not say which."""
TF32_SHARE = 0.5
"""Of the fp16 tensor cores' dense rate that they have with float32 operands, as TF32: the most that
a launch in float32 can reach, whatever it makes of its operands."""


def peak_tflop_per_s(peaks: Peaks, dtype: Dtype) -> float:
    """Return the dense tensor-core peak; bfloat16 has that of fp16, as FP8 has without cores."""
    if dtype == "float32":
        return max(TF32_SHARE * peaks.fp16_tensor_tflop_per_s, peaks.fp32_tflop_per_s)
    fp8 = peaks.fp8_tensor_tflop_per_s if dtype.startswith("float8") else None
    return fp8 or peaks.fp16_tensor_tflop_per_s


def compute_ms(flop: float, peaks: Peaks, dtype: Dtype) -> float:
    """FLOPs over peak rate."""
    return flop / (peak_tflop_per_s(peaks, dtype) * 1e12) * 1e3


def memory_ms(traffic_bytes: float, peaks: Peaks) -> float:
    """Return bytes over peak memory bandwidth."""
    return traffic_bytes / (peaks.memory_gb_per_s * 1e9) * 1e3


def bound_ms(facts: ArmFacts, dtype: Dtype, peaks: Peaks) -> float:
    """Roofline bound on the time of one launch."""
    return max(compute_ms(facts.flop, peaks, dtype), memory_ms(facts.bytes, peaks))


def floor_ms(facts: ArmFacts, dtype: Dtype, target: Target, l2: Literal["cold", "warm"]) -> float:
    """Time below which a measurement of one launch cannot be right."""
    from_memory = max(0, facts.bytes - target.l2_bytes) if l2 == "cold" else 0
    return max(compute_ms(facts.flop, target.peaks, dtype), memory_ms(from_memory, target.peaks))


SPARSE_SHARE = 2.0
"""Of a dense rate that tensor cores reach on operands of which two values in four are zero."""


@dataclass(frozen=True)
class ClaimableTime:
    """The least time that may be claimed of a launch, and what sets it."""

    ms: float
    by: Literal["compute", "memory"]


def claimable(
    flop: float, traffic_bytes: float, dtype: Dtype, target: Target, *, sparse: bool = False
) -> ClaimableTime:
    """Return the least time that a claim may state of a launch of so many FLOP and bytes.

    ``sparse``: whether the claim states structured sparsity (2:4), which has a peak of its own.
    """
    share = SPARSE_SHARE if sparse else 1.0
    compute = compute_ms(flop, target.peaks, dtype) / share
    fits = traffic_bytes <= target.l2_bytes
    memory = 0.0 if fits else memory_ms(traffic_bytes, target.peaks)
    return (
        ClaimableTime(compute, "compute") if compute >= memory else ClaimableTime(memory, "memory")
    )


def fraction(time_ms: float, facts: ArmFacts, dtype: Dtype, peaks: Peaks) -> float:
    """Share of the roofline reached by a launch of ``time_ms``; 1 is the bound."""
    return bound_ms(facts, dtype, peaks) / time_ms


def rate_limit_tflop_per_s(facts: ArmFacts, dtype: Dtype, peaks: Peaks) -> float:
    """Highest rate the roofline allows this operation, by its own FLOPs."""
    return facts.flop / (bound_ms(facts, dtype, peaks) * 1e-3) / 1e12
