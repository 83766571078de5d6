"""Records as pandas data frames: verdicts, samples, telemetry, builds. Pure.

A frame has exactly the columns of its table, in that order and with those dtypes, also where it has
no row. Rows stand in the order of the records. ``NaN``, or ``None`` among texts, stands for what a
record does not say. ``assay.open_report`` gives a report's.
"""

from assay.frames.record_frames import (
    BUILDS,
    SAMPLES,
    TELEMETRY,
    VERDICTS,
    Column,
    builds,
    samples,
    telemetry,
    verdicts,
)

TABLES: dict[str, tuple[Column, ...]] = {
    "verdicts": VERDICTS,
    "samples": SAMPLES,
    "telemetry": TELEMETRY,
    "builds": BUILDS,
}
"""The frames of a report, by name."""

__all__ = [
    "BUILDS",
    "SAMPLES",
    "TABLES",
    "TELEMETRY",
    "VERDICTS",
    "Column",
    "builds",
    "samples",
    "telemetry",
    "verdicts",
]
