"""NVML's clock-event reasons: which void a block of launches, and which say how the GPU ran."""

VOIDING_REASONS = {
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}
"""Clock-event reasons that void a block."""

REGIMES = {
    0x02: "applications clocks",
    0x04: "software power cap",
    0x10: "synchronised boost",
    0x100: "display clocks",
}
"""Clock-event reasons that say how the GPU ran, not that something went wrong."""

SHARED_GPU = "another process used the GPU"
"""Why a block is void that somebody else's work disturbed; no clock event shows it."""
