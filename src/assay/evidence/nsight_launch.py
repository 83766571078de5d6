"""A launch as Nsight Compute saw it: all of its kernels together."""

from assay.evidence.nsight_csv import CLOCK, DURATION, HZ, MS, NS_IN_MS, clock_hz, duration_ns
from assay.records.profile import ProfileRecord

HZ_IN_MHZ = 1e6


def launch_ms(profile: ProfileRecord) -> float | None:
    """Return how long a launch ran, in ms.

    All its kernels, where the record holds the profiler's page, else the longest. None where it has
    no time, or one in a unit not known here.
    """
    whole = duration_ns(profile.raw_page) if profile.raw_page else None
    if whole is not None:
        return whole / NS_IN_MS
    factor = MS.get(profile.units.get(DURATION, ""))
    value = profile.metrics.get(DURATION)
    return value * factor if value is not None and factor is not None else None


def launch_clock_mhz(profile: ProfileRecord) -> float | None:
    """Return the mean SM clock of the kernels that ``launch_ms`` counts, in MHz.

    None where it has none, or not in Hz.
    """
    whole = clock_hz(profile.raw_page) if profile.raw_page else None
    if whole is not None:
        return whole / HZ_IN_MHZ
    value = profile.metrics.get(CLOCK)
    return value / HZ_IN_MHZ if value is not None and profile.units.get(CLOCK) in HZ else None
