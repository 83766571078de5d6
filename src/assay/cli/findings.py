"""One line of what doctor finds on a machine."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """The state of one part."""

    OK = "ok"
    MISSING = "missing"
    """Or of no use as it is: something that belongs to Assay or to what it needs."""
    OPTIONAL = "optional, not here"
    UNUSABLE = "optional, does not work"
    UNUSED = "not used"
    """Here, and nothing for Assay."""


@dataclass(frozen=True)
class Finding:
    """One part of the machine."""

    part: str
    state: State
    found: str
    remedy: str = ""
