"""The worker's messages while it works."""

import sys
from datetime import UTC, datetime


def utc_now() -> str:
    """Return the time, UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def utc_moment() -> str:
    """As utc_now, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def progress(step: int, steps: int, text: str) -> None:
    """One line on stderr: which step of how many, and what it is."""
    sys.stderr.write(f"[{step}/{steps}] {text}\n")
    sys.stderr.flush()
