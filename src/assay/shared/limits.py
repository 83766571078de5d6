"""The most launches that a turn holds: the device keeps to it and the report tells it."""

MAX_SAMPLES = 64
"""Timed launches, unless the protocol itself asks for more: a short kernel's turn must not fill
the evidence with samples."""
MAX_SETTLING = 512
"""Launches before them that are not counted."""
